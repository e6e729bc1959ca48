"""The check of one skill, in a process of its own that can be killed."""

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from anyio import BrokenResourceError, BrokenWorkerProcess, CapacityLimiter, to_process

from vskill_platform.base.process_limits import effective_limit, limit_cpu, limit_memory
from vskill_platform.base.shortage import is_shortage
from vskill_platform.errors import ScanError
from vskill_platform.scan.measure_likeness import measure_likeness
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_SECONDS = 30

Result = TypeVar("Result")
Scan = Callable[[Path, str | None], ScanResult]


async def check_skill(
    folder: Path, *, folder_name: str | None, slots: CapacityLimiter
) -> ScanResult:
    """Check the files in *folder*. A checker that breaks means: not verified."""
    return await run_in_process(_scan_and_measure, scan_skill, folder, folder_name, slots=slots)


def _scan_and_measure(scan: Scan, folder: Path, folder_name: str | None) -> ScanResult:
    """Add to the result what a registry compares with other skills."""
    result = scan(folder, folder_name)
    likeness = measure_likeness(folder, result.capabilities)
    return msgspec.structs.replace(result, likeness=likeness)


async def run_in_process(
    work: Callable[..., Result], *arguments: object, slots: CapacityLimiter
) -> Result:
    """Read a skill's files in a process that is killed with the task that waits for it."""
    ordered = partial(_within_limits, work, *arguments)
    for is_last in (False, False, True):
        try:
            return await to_process.run_sync(ordered, cancellable=True, limiter=slots)
        except BrokenWorkerProcess as error:
            # One that had died while it waited for work never began with this: take another.
            if is_last or not isinstance(error.__cause__, BrokenResourceError):
                raise _broken_down(error) from error
        except (MemoryError, RecursionError, OSError) as error:
            if is_shortage(error):  # of this machine: the check has not begun, or cannot read
                raise
            raise _broken_down(error) from error
    raise AssertionError("the last try returns or raises")


def _broken_down(error: BaseException) -> ScanError:
    """Say in the submitter's words what the system or the interpreter put an end to."""
    memory = effective_limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES) // 1024**2
    share = f"{MAX_CPU_SECONDS} s of computing or {memory} MiB of memory"
    match error:
        case BrokenWorkerProcess():
            why = f"it was ended, most likely because it took more than {share}"
        case MemoryError():
            why = f"it would have taken more than {share}"
        case RecursionError():
            why = "something is nested too deep"
        case _:
            why = str(error)
    return ScanError(f"the check broke down: {why}")


def _within_limits(work: Callable[..., Result], *arguments: object) -> Result:
    """Run in the process: the system ends it when it takes more than its share."""
    limit_cpu(int(time.process_time()) + MAX_CPU_SECONDS)
    limit_memory(MAX_MEMORY_BYTES)
    return work(*arguments)
