"""Read-only commands work where nothing can be written."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Finished
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder

pytestmark = pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write anything"
)
LOOKS = [("list",), ("queue",), ("users", "list")]
#: They open the database in the same way.
MORE_LOOKS = [
    ("audit",), ("stuck",), ("reviews",), ("dead-letters", "list"), ("block", "list"), ("config",),
]  # fmt: skip


@pytest.fixture
def submission_id(platform: Platform) -> str:
    return platform.submit(a_skill_folder(platform.folder))


@contextmanager
def nothing_writable(folder: Path) -> Iterator[None]:
    """Take the right to write from the database, its other files and their folder."""
    files = list(folder.glob("skills.db*"))
    for file in files:
        file.chmod(0o444)
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)
        for file in files:
            file.chmod(0o644)


def look(platform: Platform, *command: str) -> Finished:
    return platform.run_unprivileged(*command)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [*LOOKS, *(pytest.param(command, marks=pytest.mark.torture) for command in MORE_LOOKS)],
    ids=" ".join,
)
@pytest.mark.usefixtures("submission_id")
def test_a_closed_database_that_cannot_be_written_can_be_read(
    platform: Platform, command: tuple[str, ...]
) -> None:
    with nothing_writable(platform.folder):
        found = look(platform, *command)

    remark = "The list is empty.\n" if command == ("users", "list") else ""
    assert (found.code, found.err) == (0, remark)


@pytest.mark.slow
def test_the_write_ahead_log_of_a_killed_server_is_read(platform: Platform) -> None:
    server = platform.start("serve", port=str(free_port()))
    server.wait_for("vskill-platform is at")
    paused = platform.run("pause", "--reason", "only in the log")
    server.kill()
    assert Path(f"{platform.database}-wal").stat().st_size > 0

    with nothing_writable(platform.folder):
        found = look(platform, "audit")

    assert (paused.code, found.code) == (0, 0)
    assert "only in the log" in found.out


@pytest.mark.slow
@pytest.mark.usefixtures("submission_id")
def test_a_command_that_writes_says_that_it_cannot(platform: Platform) -> None:
    with nothing_writable(platform.folder):
        refused = look(platform, "pause")

    assert refused.code == 1
    assert "the file cannot be written" in refused.err


@pytest.mark.usefixtures("submission_id")
def test_a_command_that_only_looks_leaves_an_older_schema_as_it_is(platform: Platform) -> None:
    with sqlite3.connect(platform.database) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()

    refused = platform.run("list")

    assert refused.code == 1
    assert "Start `vskill-platform serve` or `work`, which upgrade it" in refused.err
