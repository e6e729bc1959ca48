"""One piece of work on hostile data, in a process that can be killed and has limits."""

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import BrokenWorkerProcess, fail_after, to_process

Result = TypeVar("Result")

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_SECONDS = 30
#: How a process that took more than its share comes to its end.
BROKE_DOWN = (BrokenWorkerProcess, MemoryError, RecursionError, TimeoutError)


async def run_bounded(work: Callable[[], Result]) -> Result:
    """Run *work*, which must be importable, elsewhere; raises its errors or one of BROKE_DOWN."""
    with fail_after(MAX_SECONDS):
        limited = partial(_within_limits, work, MAX_SECONDS, MAX_MEMORY_BYTES)
        return await to_process.run_sync(limited, cancellable=True)


def _within_limits(work: Callable[[], Result], seconds: int, memory_bytes: int) -> Result:
    cpu = int(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.RLIM_INFINITY))
    return work()
