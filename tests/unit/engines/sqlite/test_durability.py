"""Acknowledged commits survive: they are on disk before the caller gets the result."""

import asyncio
import shutil
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import LEASE, list_all, receive_one, start_waiting, value_of
from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Acknowledge, Delete, Put, Send
from vskill_platform.engines.sqlite.connection import open_connection

FULL = 2

SEND_FROM_ANOTHER_PROCESS = """
import asyncio, sys
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send

async def main() -> None:
    engine = await open_engine(sys.argv[1])
    for n in range(20):
        await engine.commit([Put(f"theirs:{n}", b""), Send(b"from another process")])
    await engine.close()

asyncio.run(main())
"""


def crashed_copy(path: Path, to: Path) -> str:
    """Return the URL of what is on the disk now, as after a power cut."""
    to.mkdir()
    for file in (path, path.with_name(f"{path.name}-wal")):
        shutil.copy(file, to)
    return f"sqlite:///{to / path.name}"


async def test_an_acknowledged_commit_is_already_in_the_files(
    url: str, path: Path, tmp_path: Path
) -> None:
    engine = await open_engine(url)

    for n in range(3):
        await engine.commit([Put(f"sub:{n}", b"")])
        survivor = await open_engine(crashed_copy(path, tmp_path / f"copy {n}"))
        assert len(await list_all(survivor)) == n + 1
        await survivor.close()

    await engine.close()


async def test_every_connection_syncs_its_log_at_each_commit(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        assert [connection.pragma("synchronous") for connection in spy.opened] == [FULL] * 5
        assert {connection.pragma("journal_mode") for connection in spy.opened} == {"wal"}

        await engine.close()


async def test_an_engine_that_is_opened_again_finds_everything(url: str) -> None:
    clock = ManualClock()
    engine = await open_engine(url, clock=clock)
    await engine.commit([Put("sub:1", b"one", expires_at=NOON + timedelta(days=1))])
    await engine.commit([Send(b"first", key="sub:1"), Send(b"second")])
    delivery = await receive_one(engine)
    await engine.queue.pause(timedelta(hours=1))
    before = await engine.queue.stats(), await engine.revision()
    await engine.close()

    again = await open_engine(url, clock=clock)

    assert (await again.queue.stats(), await again.revision()) == before
    assert await value_of(again, "sub:1") == b"one"
    assert await again.commit([Acknowledge(delivery), Delete("sub:1")]) == 2
    await again.close()


async def test_a_close_waits_for_the_commits_that_are_under_way(url: str) -> None:
    engine = await open_engine(url)
    commits = [asyncio.create_task(engine.commit([Put(f"sub:{n}", b"")])) for n in range(10)]
    await asyncio.sleep(0)

    await engine.close()

    assert await asyncio.gather(*commits) == list(range(1, 11))


async def test_closing_leaves_one_file_and_no_lock(url: str, path: Path) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"")])

    await engine.close()

    assert [file.name for file in path.parent.iterdir()] == [path.name]
    connection = open_connection(path)
    connection.execute("BEGIN EXCLUSIVE")
    connection.close()


async def test_an_engine_that_is_closed_at_once_leaves_no_connection_open(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        await engine.close()

    for connection in spy.opened:
        with pytest.raises(apsw.ConnectionClosedError):
            connection.pragma("user_version")


async def test_closing_twice_does_no_harm(url: str) -> None:
    engine = await open_engine(url)

    await engine.close()
    await engine.close()


async def test_changes_of_a_second_process_arrive_completely(url: str) -> None:
    engine = await open_engine(url)
    waiting = await start_waiting(engine)

    other = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", SEND_FROM_ANOTHER_PROCESS, url]
    )
    ours = [await engine.commit([Put(f"ours:{n}", b"")]) for n in range(20)]
    async with asyncio.timeout(60):
        (delivery,) = await waiting
        assert await asyncio.to_thread(other.wait) == 0

    assert delivery.body == b"from another process"
    assert None not in ours
    assert len(await list_all(engine, "ours:")) == len(await list_all(engine, "theirs:")) == 20
    assert len(await engine.queue.receive(100, lease=LEASE)) == 19
    await engine.close()


async def test_a_new_file_is_for_its_owner_alone_and_an_old_one_keeps_its_mode(
    url: str, path: Path
) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("sub:1", b"x")])
    modes = [mode_of(Path(f"{path}{ending}")) for ending in ("", "-wal", "-shm")]
    await engine.close()
    set_mode(path, 0o640)
    await (await open_engine(url)).close()

    assert modes == [0o600] * 3
    assert mode_of(path) == 0o640


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def set_mode(path: Path, mode: int) -> None:
    path.chmod(mode)
