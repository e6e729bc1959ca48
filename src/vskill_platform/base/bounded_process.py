"""One piece of work on hostile data, in a process that can be killed and has limits."""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, fail_after, to_process

from vskill_platform.base.process_limits import limit_cpu, limit_memory
from vskill_platform.errors import Busy

Result = TypeVar("Result")

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_SECONDS = 30
#: Says something about the machine, not about the work: a busy one takes long for anything.
MAX_WAIT_SECONDS = 120
#: How a process ends that used more than its share.
BROKE_DOWN = (BrokenWorkerProcess, MemoryError, RecursionError)


async def run_bounded(
    work: Callable[[], Result],
    *,
    limiter: CapacityLimiter | None = None,
    cpu_seconds: float | None = None,
) -> Result:
    """Run *work*, which must be importable, elsewhere; raises its errors or one of BROKE_DOWN.

    The limit is processor time, so the same work ends the same way on a busy machine. If the
    machine does not get to it within MAX_WAIT_SECONDS, that is Busy. Without a *limiter*, the work
    shares one place for each processor with everything else that names none.
    """
    limited = partial(_within_limits, work, cpu_seconds or MAX_CPU_SECONDS, MAX_MEMORY_BYTES)
    async with limiter or to_process.current_default_process_limiter():
        try:
            with fail_after(MAX_WAIT_SECONDS):
                # A limiter that lets everything pass: the place has been taken above.
                return await to_process.run_sync(
                    limited, cancellable=True, limiter=CapacityLimiter(1)
                )
        except TimeoutError as error:
            raise Busy("this server is too busy to finish it in time; try again later") from error


def _within_limits(work: Callable[[], Result], cpu_seconds: float, memory_bytes: int) -> Result:
    limit_cpu(math.ceil(time.process_time() + cpu_seconds))
    limit_memory(memory_bytes)
    return work()
