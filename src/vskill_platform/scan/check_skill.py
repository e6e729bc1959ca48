"""Check one skill in its own killable process, which calls scan_skill.py."""

import resource
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import msgspec
from anyio import CapacityLimiter

from vskill_platform.base.killable_process import (
    MAX_CPU_SECONDS,
    MAX_MEMORY_BYTES,
    ProcessDied,
    run_in_process,
)
from vskill_platform.base.process_limits import effective_limit
from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.errors import ScanError
from vskill_platform.scan.scan_skill import Scan, ScanResult, scan_skill
from vskill_platform.scan.sketch_skill import sketch_skill

Result = TypeVar("Result")


async def check_skill(
    folder: Path, *, folder_name: str | None, slots: CapacityLimiter | None
) -> ScanResult:
    """Check the files in *folder*; if the check fails, the skill is not verified.

    It waits for one of *slots*; None means that the caller already holds a slot.
    """
    return await read_skill(_scan_and_measure, scan_skill, folder, folder_name, slots=slots)


def _scan_and_measure(scan: Scan, folder: Path, folder_name: str | None) -> ScanResult:
    """Scan, then add the similarity sketch for the comparison with other skills."""
    result = scan(folder, folder_name)
    sketch = sketch_skill(folder, result.capabilities)
    return msgspec.structs.replace(result, sketch=sketch)


async def read_skill(
    work: Callable[..., Result], *arguments: object, slots: CapacityLimiter | None
) -> Result:
    """Read a skill's files in a process that is killed when the waiting task is cancelled."""
    async with slots or nullcontext():
        try:
            return await run_in_process(work, *arguments)
        except (ProcessDied, MemoryError, RecursionError, OSError) as error:
            if is_shortage(error):  # a shortage of this machine, not the skill's fault
                raise
            raise _broken_down(error) from error


def _broken_down(error: BaseException) -> ScanError:
    """Explain to the submitter which limit the check exceeded."""
    memory = effective_limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES) // 1024**2
    share = f"{MAX_CPU_SECONDS} s of CPU time or {memory} MiB of memory"
    match error:
        case ProcessDied():
            why = f"it was killed, most likely because it used more than {share}"
        case MemoryError():
            why = f"it needed more than {share}"
        case RecursionError():
            why = "the input is nested too deeply"
        case _:
            why = str(error)
    return ScanError(f"the check failed: {why}")
