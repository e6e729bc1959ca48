"""Run a local scanner on a private copy of a skill and read its result."""

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.base.show_text import count_of, show
from vskill_platform.errors import ScannerFailed
from vskill_platform.model.scanner import ExternalScanResult, ExternalScanStatus, LocalScanner
from vskill_platform.scan.external.load_scanners import FOLDER, OUTPUT
from vskill_platform.scan.external.read_output import (
    ScannedFolder,
    as_findings,
    is_at_least,
    read_output,
)
from vskill_platform.scan.external.run_program import (
    ProgramResult,
    find_program,
    read_bounded,
    run_program,
)
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.setting_values import format_duration

_MAX_NOTE = 300


async def run_scanner(
    scanner: LocalScanner, folder: Path, paths: Collection[str], *, workspace: Path
) -> ExternalScanResult:
    """Let a scanner check a copy of the files; a missing result is also an outcome, never a pass.

    *workspace* must not be next to *folder*, because a scanner may write beside its copy.
    """
    home = workspace / scanner.name
    copy, output = home / "skill", home / "findings"
    try:
        home.mkdir(mode=0o700)
        await work_in_thread(_copy, folder, paths, copy, scanner.own_files)
        ran = await run_program(
            scanner.program,
            [_filled(argument, copy, output) for argument in scanner.arguments],
            home=home,
            environment=scanner.environment,
            deadline=scanner.deadline,
        )
        place = ScannedFolder(_names_of(copy), frozenset(paths))
        return await work_in_thread(_read, scanner, ran, place, output)
    except TimeoutError:
        within = format_duration(scanner.deadline)
        return ExternalScanResult(
            status=ExternalScanStatus.TIMED_OUT, note=f"it did not finish within {within}"
        )
    except (ScannerFailed, OSError) as error:
        if is_shortage(error):
            raise
        note = str(error) if isinstance(error, ScannerFailed) else "its folder cannot be written"
        return ExternalScanResult(status=ExternalScanStatus.ERROR, note=note)
    finally:
        await work_in_thread(shutil.rmtree, home, ignore_errors=True)


async def version_of(scanner: LocalScanner, *, workspace: Path) -> str:
    """Return the first line of output with the installed version; empty if there is none."""
    if find_program(scanner.program) is None:
        return ""
    home = workspace / f"{scanner.name}-version"
    home.mkdir(mode=0o700)
    try:
        ran = await run_program(
            scanner.program,
            scanner.version_arguments,
            home=home,
            environment=scanner.environment,
            deadline=scanner.deadline,
        )
    except (TimeoutError, ScannerFailed):
        return ""
    lines = ran.stdout.decode(errors="replace").strip().splitlines()
    return show(lines[0], limit=60) if lines and not ran.exit_code else ""


def _copy(folder: Path, paths: Collection[str], copy: Path, own_files: dict[str, str]) -> None:
    """Copy the files, except those that could tell the scanner what to skip."""
    copy.mkdir(mode=0o700)
    for path in paths:
        target = copy / path
        if target.name not in own_files:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / path, target, follow_symlinks=False)
    for name, text in own_files.items():
        (copy / name).write_text(text)


def _filled(argument: str, copy: Path, output: Path) -> str:
    return argument.replace(FOLDER, str(copy)).replace(OUTPUT, str(output))


def _names_of(copy: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys((str(copy), os.path.realpath(copy))))


def _read(
    scanner: LocalScanner, ran: ProgramResult, place: ScannedFolder, output: Path
) -> ExternalScanResult:
    """Return exit code and output as a result, only if they agree."""
    if ran.exit_code not in scanner.exit_clean | scanner.exit_found:
        printed = redact(ran.stderr.strip().replace(place.folders[0], "the skill"))
        words = show(printed, limit=_MAX_NOTE)
        raise ScannerFailed(f"it exited with {ran.exit_code}{f': {words}' if words else ''}")
    content = ran.stdout if scanner.output == "stdout" else read_bounded(output)
    results = read_output(content, scanner.reading)
    if not results and ran.exit_code not in scanner.exit_clean:
        raise ScannerFailed(f"it exited with {ran.exit_code} but reported no findings")
    default = scanner.reading.severity
    is_bad = any(is_at_least(item.severity or default, scanner.fail_on) for item in results)
    return ExternalScanResult(
        status=ExternalScanStatus.FAIL if is_bad else ExternalScanStatus.PASS,
        findings=as_findings(results, place, scanner=scanner.name, default=default),
        note=count_of(len(results), "finding"),
    )
