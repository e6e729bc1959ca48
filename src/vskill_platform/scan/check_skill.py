"""The check of one skill, in a process of its own that can be killed."""

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from vskill_platform.errors import ScanError
from vskill_platform.scan.scan_skill import ScanResult, scan_skill

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_SECONDS = 30

Scan = Callable[[Path, str | None], ScanResult]


async def check_skill(
    folder: Path, *, folder_name: str | None, slots: CapacityLimiter
) -> ScanResult:
    """Check the files in *folder*. A checker that breaks means: not verified."""
    try:
        return await to_process.run_sync(
            partial(_within_limits, scan_skill, folder, folder_name),
            cancellable=True,
            limiter=slots,
        )
    except (BrokenWorkerProcess, MemoryError, RecursionError, OSError) as error:
        raise ScanError(f"the check broke down: {error!r}") from error


def _within_limits(scan: Scan, folder: Path, folder_name: str | None) -> ScanResult:
    """Run in the process: the system ends it when it takes more than its share."""
    cpu = int(time.process_time()) + MAX_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, resource.RLIM_INFINITY))
    return scan(folder, folder_name)
