"""One piece of work on hostile data, in a process that can be killed and has limits."""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, fail_after, to_process

from vskill_platform.base.process_limits import limit_cpu, limit_memory

Result = TypeVar("Result")

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_SECONDS = 30
#: How a process that took more than its share comes to its end.
BROKE_DOWN = (BrokenWorkerProcess, MemoryError, RecursionError, TimeoutError)


async def run_bounded(
    work: Callable[[], Result],
    *,
    limiter: CapacityLimiter | None = None,
    seconds: float | None = None,
) -> Result:
    """Run *work*, which must be importable, elsewhere; raises its errors or one of BROKE_DOWN.

    Its time begins once *limiter* lets it: that others were first is no fault of the work. Who
    names none shares one place for each processor with all others that do not.
    """
    seconds = seconds or MAX_SECONDS
    limited = partial(_within_limits, work, seconds, MAX_MEMORY_BYTES)
    async with limiter or to_process.current_default_process_limiter():
        with fail_after(seconds):
            # A limiter that lets everything pass: the place has been taken above.
            return await to_process.run_sync(limited, cancellable=True, limiter=CapacityLimiter(1))


def _within_limits(work: Callable[[], Result], seconds: float, memory_bytes: int) -> Result:
    limit_cpu(math.ceil(time.process_time() + seconds))
    limit_memory(memory_bytes)
    return work()
