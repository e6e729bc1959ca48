"""Standard error that cannot be written: nothing raises or blocks, and lost lines are counted."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from vskill_platform.base.safe_stderr import MAX_WAITING_BYTES, SafeStderr

LINE = "x" * 99 + "\n"


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as read, os.fdopen(writer, "wb", buffering=0) as end:
        yield read, end


def read_until(reader: BinaryIO, end: bytes) -> str:
    found = b""
    while not found.endswith(end):
        found += reader.read(65536)
    return found.decode()


def test_a_line_is_written_at_once(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    reader, writer = pipe
    stderr = SafeStderr(writer.fileno())

    stderr.write("für \ud800\n")

    assert reader.read(100) == "für \\ud800\n".encode()


def test_a_reader_that_has_gone_costs_the_lines_and_nothing_else(
    pipe: tuple[BinaryIO, BinaryIO],
) -> None:
    reader, writer = pipe
    reader.close()
    stderr = SafeStderr(writer.fileno())

    stderr.write("one\ntwo\n")
    stderr.write("three\n")

    assert stderr.dropped == 3


def test_after_a_full_disk_the_next_line_is_preceded_by_how_many_are_missing(
    tmp_path: Path,
) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    stderr = SafeStderr(full)
    for _ in range(7):
        stderr.write(LINE)
    with (tmp_path / "log").open("wb") as log:
        os.dup2(log.fileno(), full)

    stderr.write("back\n")

    os.close(full)
    missing = "vskill-platform: 7 log lines could not be written and were dropped"
    assert (tmp_path / "log").read_text().splitlines() == [missing, "back"]
    assert stderr.dropped == 0


def test_a_line_that_was_cut_off_is_ended_before_the_next_one(
    pipe: tuple[BinaryIO, BinaryIO], tmp_path: Path
) -> None:
    reader, writer = pipe
    stderr = SafeStderr(writer.fileno())
    stderr.write("y" * 500_000 + "\n")  # more than a pipe holds
    reader.close()
    stderr.write(LINE)
    with (tmp_path / "log").open("wb") as log:
        os.dup2(log.fileno(), writer.fileno())

    stderr.write("back\n")

    stderr.finish()
    assert (tmp_path / "log").read_text().splitlines() == [
        "",
        "vskill-platform: 2 log lines could not be written and were dropped",
        "back",
    ]


def test_nobody_waits_for_a_reader_that_does_not_read(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    reader, writer = pipe
    stderr = SafeStderr(writer.fileno())
    many = 2 * MAX_WAITING_BYTES // len(LINE)

    for _ in range(many):
        stderr.write(LINE)

    dropped = stderr.dropped
    text = read_until(reader, b"were dropped\n")
    *lines, notice = text.splitlines(keepends=True)
    assert dropped > 0
    assert lines == [LINE] * (many - dropped)
    assert f" {dropped} log lines" in notice


def test_buffered_lines_are_written_before_the_process_exits(
    pipe: tuple[BinaryIO, BinaryIO],
) -> None:
    reader, writer = pipe
    many = 2_000
    program = (
        "import sys\n"
        "from vskill_platform.base.safe_stderr import guard_stderr\n"
        "guard_stderr()\n"
        f"for _ in range({many}): sys.stderr.write({LINE!r})\n"
    )

    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writer.fileno(), 2)],
    )
    writer.close()
    text = b"".join(iter(lambda: reader.read(65536), b"")).decode()

    assert os.waitpid(process, 0)[1] == 0
    assert text == LINE * many


def test_a_process_without_standard_error_writes_into_no_other_file(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from vskill_platform.base.safe_stderr import guard_stderr\n"
        "guard_stderr()\n"
        f"file = open({str(tmp_path / 'file')!r}, 'w')\n"
        "print('a line', file=sys.stderr)\n"
    )

    process = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_CLOSE, 2)],
    )

    assert os.waitpid(process, 0)[1] == 0
    assert (tmp_path / "file").read_text() == ""
