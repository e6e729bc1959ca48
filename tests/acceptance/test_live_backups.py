"""Other programs can read the database of a running server without disturbing it."""

import asyncio
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Running
from tests.acceptance.program import Platform
from tests.acceptance.records import read_statuses, submit_folders
from tests.casts import a_skill_folder
from tests.missing import skip_without
from tests.unit.engines.sqlite.held_locks import held_locks

Backup = Callable[[Path, Path], None]


def _by_program(database: Path, copy: Path) -> None:
    program = shutil.which("sqlite3")
    if program is None:
        skip_without(
            "sqlite3",
            untested="a live backup by the system's sqlite3",
            get_it="`apt install sqlite3`",
        )
    subprocess.run([program, str(database), f".backup {copy}"], check=True, timeout=20)


def _by_module(database: Path, copy: Path) -> None:
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _start_server(platform: Platform) -> Running:
    server = platform.start("serve", port=str(free_port()))
    server.wait_for("vskill-platform is at")
    return server


@pytest.mark.slow
def test_a_server_holds_its_locks_however_often_the_file_is_opened(platform: Platform) -> None:
    server = _start_server(platform)
    before = held_locks(platform.database, server.pid)

    for _ in range(3):
        assert platform.run("list").code == 0

    assert before
    assert held_locks(platform.database, server.pid) == before
    assert server.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "backup", [_by_program, pytest.param(_by_module, marks=pytest.mark.torture)]
)
async def test_acknowledged_submissions_survive_a_kill_during_and_after_a_backup(
    platform: Platform, tmp_path: Path, backup: Backup
) -> None:
    skills = [a_skill_folder(tmp_path, name=f"tidy-notes-{number}") for number in range(9)]
    server = _start_server(platform)

    acknowledged = await submit_folders(platform, *skills[:3])
    during = asyncio.create_task(submit_folders(platform, *skills[3:6]))
    await asyncio.to_thread(backup, platform.database, tmp_path / "copy.db")
    acknowledged += await during
    acknowledged += [platform.submit(skill) for skill in skills[6:]]
    server.kill()

    assert len(await read_statuses(platform, *acknowledged)) == len(skills)


@pytest.mark.torture
async def test_two_servers_on_one_file_and_a_backup_lose_nothing(
    platform: Platform, tmp_path: Path
) -> None:
    skills = [a_skill_folder(tmp_path, name=f"tidy-notes-{number}") for number in range(6)]
    servers = [_start_server(platform), _start_server(platform)]

    acknowledged = await submit_folders(platform, *skills[:3])
    _by_module(platform.database, tmp_path / "copy.db")
    servers[0].kill()
    acknowledged += await submit_folders(platform, *skills[3:])
    _by_module(platform.database, tmp_path / "copy.db")
    servers[1].kill()

    assert len(await read_statuses(platform, *acknowledged)) == len(skills)
    with closing(sqlite3.connect(platform.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
