"""`backup` and `restore` on a running platform: complete, verified, and safe to kill."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.ports import free_port, get_json
from tests.acceptance.processes import Finished, Running
from tests.acceptance.program import Platform
from tests.acceptance.records import submit_folders, wait_until_all_ended
from tests.casts import a_skill_folder
from tests.unit.engines.sqlite.held_locks import held_locks
from vskill_platform.engines.sqlite.seal import write_seal
from vskill_platform.stores.db import bound_env

_BACKUP = "vskill_platform.engines.sqlite.backup"


def _skills(tmp_path: Path, *names: str) -> list[Path]:
    return [a_skill_folder(tmp_path, name) for name in names]


def _listed(platform: Platform) -> list[str]:
    done = platform.run("list", "--json")
    assert done.code == 0, done
    return sorted(item["id"] for item in msgspec.json.decode(done.out)["submissions"])


def _start_server(platform: Platform, port: int) -> Running:
    server = platform.start("serve", port=str(port))
    server.wait_for("vskill-platform is at")
    return server


def _assert_refused(finished: Finished, *parts: str) -> None:
    assert finished.code == 1, finished
    assert "Traceback" not in finished.err
    assert [part for part in parts if part not in finished.err] == []


@pytest.mark.slow
async def test_a_backup_ends_under_constant_writes_and_is_complete(
    platform: Platform, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    known = await submit_folders(platform, *_skills(tmp_path, *(f"a-{n}" for n in range(5))))
    _start_server(platform, free_port())
    is_over = asyncio.Event()

    async def write_on() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            await submit_folders(platform, a_skill_folder(tmp_path, f"more-{number}"))

    writing = asyncio.create_task(write_on())
    done = await asyncio.to_thread(platform.run, "backup", copy)
    is_over.set()
    await writing

    assert done.code == 0, done
    assert "verified" in done.out
    assert "  sub\n" in done.out
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        keys = {key for (key,) in connection.execute("SELECT key FROM kv")}
    assert {f"sub:{submission_id}" for submission_id in known} <= keys


def test_a_backup_is_for_its_owner_alone_and_one_file(platform: Platform, tmp_path: Path) -> None:
    platform.submit(a_skill_folder(tmp_path))
    folder = tmp_path / "backups"
    folder.mkdir()

    old_mask = os.umask(0)
    try:
        done = platform.run("backup", folder / "copy.db")
    finally:
        os.umask(old_mask)

    assert done.code == 0
    assert [file.name for file in folder.iterdir()] == ["copy.db"]
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_backup_replaces_a_file_only_by_force_and_never_the_database(
    platform: Platform, tmp_path: Path
) -> None:
    platform.submit(a_skill_folder(tmp_path))
    copy, link = tmp_path / "copy.db", tmp_path / "link.db"
    copy.write_text("mine")
    link.symlink_to(platform.database)

    refused = platform.run("backup", copy)
    kept = copy.read_text()
    forced = platform.run("backup", copy, "--force")

    _assert_refused(refused, "this file exists", "--force")
    assert kept == "mine"
    assert forced.code == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (platform.database, link, Path(f"{platform.database}-wal"), tmp_path, pipe):
        _assert_refused(platform.run("backup", target, "--force"), str(target))
    assert len(_listed(platform)) == 1


def test_a_missing_database_is_not_made_for_a_backup(platform: Platform, tmp_path: Path) -> None:
    refused = platform.run("backup", tmp_path / "copy.db")

    _assert_refused(refused, "there is no database yet")
    assert not platform.database.exists()
    assert not (tmp_path / "copy.db").exists()


async def test_a_restored_database_is_the_one_that_was_backed_up(
    platform: Platform, tmp_path: Path
) -> None:
    first, second = _skills(tmp_path, "first", "second")
    port = free_port()
    (known,) = await submit_folders(platform, first)
    server = _start_server(platform, port)
    await wait_until_all_ended(platform)
    before = await platform.inside(_history_id)
    assert platform.run("backup", tmp_path / "copy.db").code == 0
    await submit_folders(platform, second)
    await wait_until_all_ended(platform)
    assert server.end() == 0

    done = platform.run("restore", tmp_path / "copy.db", "--yes")
    listed = _listed(platform)
    after = await platform.inside(_history_id)
    # Other commits get the revisions of those that were lost.
    others = await submit_folders(platform, *_skills(tmp_path, "third", "fourth"))
    _start_server(platform, port)
    await wait_until_all_ended(platform)

    assert done.code == 0, done
    assert listed == [known]
    assert after != before
    async with asyncio.timeout(60):
        while (answer := get_json(port, "/api/v1/submissions"))[0] != 200 or any(
            item["state"] != "PUBLISHED" for item in answer[1]["submissions"]
        ):
            await asyncio.sleep(0)
    shown = sorted(item["id"] for item in answer[1]["submissions"])
    assert shown == sorted([known, *others])
    assert _kept_submissions(tmp_path) == 2


def _kept_submissions(folder: Path) -> int:
    """Count what is in the database that was there before the restore."""
    (kept,) = folder.glob("skills.replaced-*.db")
    with closing(sqlite3.connect(kept)) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM kv WHERE key LIKE 'sub:%'")
    return int(count)


async def _history_id() -> str:
    return await bound_env().engine.history_id()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("serve",), pytest.param(("work",), marks=pytest.mark.torture)]
)
def test_a_restore_below_a_running_process_is_refused(
    platform: Platform, tmp_path: Path, command: tuple[str, ...]
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path))
    assert platform.run("backup", tmp_path / "copy.db").code == 0
    running = platform.start(*command, port=str(free_port()))
    while not held_locks(platform.database, running.pid):
        assert running.is_alive

    refused = platform.run("restore", tmp_path / "copy.db", "--yes")

    _assert_refused(refused, "in use", "Stop every `serve`")
    running.kill()
    assert _listed(platform) == [submission_id]


@pytest.mark.slow
def test_a_restore_below_a_server_on_a_restored_database_is_refused(
    platform: Platform, tmp_path: Path
) -> None:
    platform.submit(a_skill_folder(tmp_path))
    assert platform.run("backup", tmp_path / "copy.db").code == 0
    assert platform.run("restore", tmp_path / "copy.db", "--yes").code == 0
    server = _start_server(platform, free_port())

    refused = platform.run("restore", tmp_path / "copy.db", "--yes")

    _assert_refused(refused, "in use", "Stop every `serve`")
    assert server.is_alive


@pytest.mark.slow
def test_without_an_answer_nothing_is_restored(platform: Platform, tmp_path: Path) -> None:
    platform.submit(a_skill_folder(tmp_path))
    assert platform.run("backup", tmp_path / "copy.db").code == 0
    second = platform.submit(a_skill_folder(tmp_path, "second"))

    unasked = platform.run("restore", tmp_path / "copy.db")

    assert unasked.code == 2
    assert "--yes" in unasked.err
    assert second in _listed(platform)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["missing", "text", "foreign", "newer", "damaged", "empty", "own"])
def test_a_bad_backup_is_refused_and_the_database_is_kept(
    platform: Platform, tmp_path: Path, kind: str
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path))
    copy = tmp_path / "copy.db"
    assert platform.run("backup", copy).code == 0
    match kind:
        case "missing":
            copy.unlink()
        case "text":
            copy.write_text("my notes " * 1000)
        case "empty":
            copy.write_bytes(b"")
        case "own":
            copy = platform.database
        case "damaged":
            content = copy.read_bytes()
            copy.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
        case _:
            with closing(sqlite3.connect(copy)) as connection:
                pragma = "user_version" if kind == "newer" else "application_id"
                connection.execute(f"PRAGMA {pragma} = 99")
            os.truncate(copy, copy.stat().st_size // 512 * 512)
            write_seal(copy)

    refused = platform.run("restore", copy, "--yes")

    _assert_refused(refused, str(copy))
    assert _listed(platform) == [submission_id]
    assert not list(tmp_path.glob("*.replaced-*"))
    assert not list(tmp_path.glob(".*part*"))


@pytest.mark.slow
def test_a_backup_of_an_older_release_is_restored_with_a_note_that_it_has_no_digest(
    platform: Platform, tmp_path: Path
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path))
    copy = tmp_path / "copy.db"
    assert platform.run("backup", copy).code == 0
    new = platform.run("restore", copy, "--verify")
    os.truncate(copy, copy.stat().st_size // 512 * 512)  # without its digest

    verified = platform.run("restore", copy, "--verify")
    restored = platform.run("restore", copy, "--yes")

    assert (new.code, verified.code, restored.code) == (0, 0, 0)
    assert "digest" not in new.out
    assert "It has no digest" in verified.out
    assert "It has no digest" in restored.out
    assert _listed(platform) == [submission_id]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["noise", "gone", "empty"])
def test_a_lost_or_damaged_database_is_replaced(
    platform: Platform, tmp_path: Path, damage: str
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path))
    assert platform.run("backup", tmp_path / "copy.db").code == 0
    match damage:
        case "gone":
            platform.database.unlink()
        case "empty":
            platform.database.write_bytes(b"")
        case _:
            platform.database.write_bytes(os.urandom(20_000))

    done = platform.run("restore", tmp_path / "copy.db", "--yes")

    assert done.code == 0, done
    assert _listed(platform) == [submission_id]
    assert platform.database.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("_copy", marks=pytest.mark.torture),
        pytest.param("_verify", marks=pytest.mark.torture),
        "put_in_place",
    ],
)
def test_a_killed_backup_leaves_no_half_copy_and_the_next_one_works(
    platform: Platform, tmp_path: Path, place: str
) -> None:
    submission_id = platform.submit(a_skill_folder(tmp_path))
    copy = tmp_path / "copy.db"
    moment = "before" if place == "put_in_place" else "after"

    platform.run_killed(moment, f"{_BACKUP}:{place}", "backup", copy)

    assert not copy.exists()
    assert platform.run("backup", copy).code == 0
    assert not list(tmp_path.glob(".copy.db.*"))
    assert _listed(platform) == [submission_id]


@pytest.mark.slow
@pytest.mark.parametrize(
    "place",
    [
        pytest.param("_copy", marks=pytest.mark.torture),
        pytest.param("_begin_new_history", marks=pytest.mark.torture),
        pytest.param("_verify", marks=pytest.mark.torture),
        "_keep_aside",
    ],
)
def test_a_killed_restore_leaves_the_old_database_with_all_its_commits(
    platform: Platform, tmp_path: Path, place: str
) -> None:
    first = platform.submit(a_skill_folder(tmp_path, "first"))
    copy = tmp_path / "copy.db"
    assert platform.run("backup", copy).code == 0
    server = _start_server(platform, free_port())
    second = platform.submit(a_skill_folder(tmp_path, "second"))
    server.kill()  # so that there is a log

    platform.run_killed("after", f"{_BACKUP}:{place}", "restore", copy, "--yes")
    after_the_kill = _listed(platform)
    again = platform.run("restore", copy, "--yes")

    assert after_the_kill == sorted([first, second])
    assert again.code == 0, again
    assert _listed(platform) == [first]
    assert not list(tmp_path.glob(".skills.db.*"))


@pytest.mark.parametrize("place", ["put_in_place", "copy_export"])
def test_nothing_runs_on_a_copy_that_was_killed_before_its_first_record(
    platform: Platform, tmp_path: Path, place: str
) -> None:
    platform.submit(a_skill_folder(tmp_path))
    target = tmp_path / "copied.db"
    url = f"sqlite:///{target}"
    command = ("admin", "copy", "--from", f"sqlite:///{platform.database}", "--to", url)

    platform.run_killed("before", f"vskill_platform.engines.open_engine:{place}", *command)
    is_there = target.exists()
    ticked = platform.run("tick", database_url=url)
    again = platform.run(*command)

    assert is_there is (place == "copy_export")
    assert ticked.code == 1
    assert ("unfinished copy" if is_there else "there is no database") in ticked.err
    assert again.code == 0, again
    assert {file.name for file in tmp_path.glob("*copied.db*")} == {"copied.db"}
