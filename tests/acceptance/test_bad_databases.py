"""A database that cannot be used gets one clear error, and the file is not changed."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.acceptance.processes import Finished
from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders
from tests.casts import a_skill_folder

needs_setpriv = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="file permissions do not count for root, and setpriv is not there to change that",
)


@pytest.fixture
async def skill(platform: Platform, tmp_path: Path) -> Path:
    """A skill that was submitted; the database holds it and is in no use."""
    skill = a_skill_folder(tmp_path)
    await submit_folders(platform, skill)
    return skill


def _assert_explained(finished: Finished, *parts: str) -> None:
    assert finished.code == 1
    assert finished.err.startswith("vskill-platform: ")
    assert "Traceback" not in finished.err
    assert [part for part in parts if part not in finished.err] == []


@pytest.mark.slow
@needs_setpriv
async def test_a_read_only_file_is_explained_and_works_once_it_can_be_written(
    platform: Platform, skill: Path
) -> None:
    platform.database.chmod(0o444)
    refused = platform.run_unprivileged("submit", skill)
    for file in platform.folder.glob("skills.db*"):
        file.chmod(0o644)
    accepted = platform.run_unprivileged("submit", skill)

    _assert_explained(
        refused, str(platform.database), "the file cannot be written; check its owner"
    )
    assert accepted.code == 0
    assert accepted.out.startswith("Already in progress")


@pytest.mark.slow
@needs_setpriv
def test_a_read_only_folder_is_explained(platform: Platform, tmp_path: Path) -> None:
    skill = a_skill_folder(tmp_path)
    tmp_path.chmod(0o555)
    refused = platform.run_unprivileged("submit", skill)
    tmp_path.chmod(0o755)

    _assert_explained(refused, "cannot be opened; check that its folder exists and is writable")


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("status", "sub_7"),
        ("tick",),
        ("dead-letters", "list"),
    ],
)
def test_a_missing_file_is_not_made_by_a_command_that_only_looks(
    platform: Platform, command: tuple[str, ...]
) -> None:
    refused = platform.run(*command)

    _assert_explained(refused, "there is no database yet", "VSKILL_DATABASE_URL")
    assert not platform.database.exists()


def test_a_missing_folder_is_explained(platform: Platform, tmp_path: Path) -> None:
    refused = platform.run(
        "submit", a_skill_folder(tmp_path), database_url=f"sqlite:///{tmp_path}/new/skills.db"
    )

    _assert_explained(refused, f"the folder {tmp_path}/new does not exist; make it first")


def test_a_file_that_is_no_database_is_explained_and_kept(
    platform: Platform, tmp_path: Path
) -> None:
    platform.database.write_text("These are my notes, not a database. " * 100)
    before = platform.database.read_bytes()

    refused = platform.run("submit", a_skill_folder(tmp_path))

    _assert_explained(refused, "damaged or not a database; restore it from a backup")
    assert platform.database.read_bytes() == before


def _damage(database: Path) -> None:
    """Leave the first page, which holds the version, and nothing behind it."""
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize("command", [("list",), ("work", "--drain"), ("serve",)])
async def test_a_damaged_database_is_explained(
    platform: Platform, command: tuple[str, ...]
) -> None:
    _damage(platform.database)

    refused = platform.run(*command)

    _assert_explained(refused, "the file is damaged; restore it from a backup")


async def test_a_database_of_a_newer_release_is_explained_and_kept(
    platform: Platform, skill: Path
) -> None:
    with sqlite3.connect(platform.database) as connection:
        ((ours,),) = connection.execute("PRAGMA user_version")
        connection.execute("PRAGMA user_version = 99")
    connection.close()

    refused = platform.run("submit", skill)
    with sqlite3.connect(platform.database) as connection:
        connection.execute(f"PRAGMA user_version = {ours}")
    connection.close()
    accepted = platform.run("submit", skill)

    _assert_explained(refused, "schema version 99", "Install the release that wrote it")
    assert accepted.out.startswith("Already in progress")


def test_a_database_of_another_program_is_explained_and_kept(platform: Platform) -> None:
    with sqlite3.connect(platform.database) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = platform.database.read_bytes()

    refused = platform.run("work", "--drain")

    _assert_explained(refused, "this is the database of another program")
    assert platform.database.read_bytes() == before


def test_a_database_that_we_have_no_engine_for_is_explained(platform: Platform) -> None:
    refused = platform.run("list", database_url="mysql://localhost/skills")

    _assert_explained(refused, "no engine for 'mysql'", "sqlite:///skills.db")
