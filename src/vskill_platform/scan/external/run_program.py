"""Run a third-party program on untrusted files, in its own process group, with limits.

The program gets its own folder and an environment without the operator's variables or our secrets.
Its output goes to files whose size the system limits, so a child that keeps a pipe open delays
nothing. When the program ends or times out, its whole group is killed.
"""

import asyncio
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.program import CannotStart, ProgramLimits, Streams, running_program
from vskill_platform.errors import ScannerFailed

#: More output is not read, because a scanner that prints this much is broken.
MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_LIMITS = ProgramLimits(file_bytes=256 * 1024 * 1024)
_MAX_COMPLAINT = 2000


class ProgramResult(msgspec.Struct, frozen=True, kw_only=True):
    #: Negative if a signal killed it.
    exit_code: int
    stdout: bytes
    stderr: str


def find_program(program: str) -> str | None:
    """Return the path of a program, or None if it is not installed."""
    found = shutil.which(program)
    return os.path.abspath(found) if found else None  # noqa: PTH100 - a link keeps its name


async def run_program(
    program: str,
    arguments: Sequence[str],
    *,
    home: Path,
    environment: Mapping[str, str],
    deadline: timedelta,
) -> ProgramResult:
    """Run it to completion; raise ScannerFailed or, if it is too slow, TimeoutError."""
    found = find_program(program)
    if found is None:
        raise ScannerFailed(f"the program {program} is not installed")
    printed, complaint = home / "stdout", home / "stderr"
    try:
        with printed.open("wb") as stdout, complaint.open("wb") as stderr:
            async with (
                running_program(
                    [found, *arguments],
                    env=_environment(Path(found), home, environment),
                    cwd=home,
                    streams=Streams(stdout=stdout, stderr=stderr),
                    limits=_LIMITS,
                ) as process,
                asyncio.timeout(deadline.total_seconds()),
            ):
                await process.wait()
    except CannotStart as error:
        raise ScannerFailed(f"the program {program} cannot be run: {error.strerror}") from error
    return ProgramResult(
        exit_code=process.returncode or 0,
        stdout=await work_in_thread(read_bounded, printed),
        stderr=await work_in_thread(_read_complaint, complaint),
    )


def read_bounded(path: Path) -> bytes:
    """Read a result file if it is a regular file within the limit."""
    content = _read_first(path, MAX_OUTPUT_BYTES + 1)
    if len(content) > MAX_OUTPUT_BYTES:
        raise ScannerFailed(f"its output has more than {MAX_OUTPUT_BYTES:,} bytes")
    return content


def _read_complaint(path: Path) -> str:
    return _read_first(path, _MAX_COMPLAINT).decode(errors="replace")


def _read_first(path: Path, limit: int) -> bytes:
    """Read the beginning of a file, which the program may have replaced by a link or a FIFO."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ScannerFailed("its output is not a regular file")
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as reading:
            return reading.read(limit)
    except FileNotFoundError as error:
        raise ScannerFailed("it wrote no output") from error
    except OSError as error:
        raise ScannerFailed(f"its output cannot be read: {error.strerror}") from error


def _environment(program: Path, home: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": f"{program.parent}:{os.defpath}",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        **more,
    }
