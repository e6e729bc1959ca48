"""The check of one skill, in a process of its own that can be killed."""

import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from vskill_platform.errors import ScanError
from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.verdict import Finding
from vskill_platform.scan.limits import check_limits
from vskill_platform.scan.manifest import check_manifest

#: Which checks a report stands for; it changes with every change of what they find.
SCANNER = "manifest-1"
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_SECONDS = 30


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    manifest: SkillManifest | None
    findings: tuple[Finding, ...]


Check = Callable[[Path, str | None], CheckResult]


async def check_skill(
    folder: Path, *, folder_name: str | None, slots: CapacityLimiter
) -> CheckResult:
    """Check the files in *folder*. A checker that breaks means: not verified."""
    try:
        return await to_process.run_sync(
            partial(_within_limits, check_folder, folder, folder_name),
            cancellable=True,
            limiter=slots,
        )
    except (BrokenWorkerProcess, MemoryError, RecursionError, OSError) as error:
        raise ScanError(f"the check broke down: {error!r}") from error


def check_folder(folder: Path, folder_name: str | None) -> CheckResult:
    manifest, findings = check_manifest(folder, folder_name)
    return CheckResult(manifest=manifest, findings=(*findings, *check_limits(folder)))


def _within_limits(check: Check, folder: Path, folder_name: str | None) -> CheckResult:
    """Run in the process: the system ends it when it takes more than its share."""
    cpu = int(time.process_time()) + MAX_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, resource.RLIM_INFINITY))
    return check(folder, folder_name)
