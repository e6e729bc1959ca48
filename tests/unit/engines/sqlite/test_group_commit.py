"""Commits that wait together share one transaction and one fsync, and fail alone or together."""

import asyncio
from pathlib import Path

import apsw
import pytest

from tests.contracts.asking import LEASE, list_all
from tests.unit.engines.sqlite.faulty_disk import faulty_disk
from tests.unit.engines.sqlite.spied_connections import spied_connections
from vskill_platform.base.settle import settle
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import ABSENT, Operation, Put, Send
from vskill_platform.engines.sqlite.writer import MAX_GROUP
from vskill_platform.errors import EngineError


def puts(count: int) -> list[list[Operation]]:
    return [[Put(f"k{n:04}", b"")] for n in range(count)]


def poison(path: Path, action: str) -> None:
    """Make SQLite itself fail when the key `poison` is put."""
    with apsw.Connection(str(path)) as connection:
        connection.execute(
            "CREATE TRIGGER poison BEFORE INSERT ON kv WHEN NEW.key = 'poison' "
            f"BEGIN SELECT RAISE({action}, 'poisoned'); END"
        )
    connection.close()


async def test_commits_that_wait_together_are_one_transaction(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        before = spy.count("COMMIT")

        revisions = await asyncio.gather(*(engine.commit(put) for put in puts(100)))

        assert spy.count("COMMIT") == before + 1
        assert revisions == list(range(1, 101))
        await engine.close()


async def test_a_refused_commit_shares_the_transaction_of_the_others(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        before = spy.count("COMMIT")

        taken = Put("k0001", b"", expected=ABSENT)
        commits: list[list[Operation]] = [*puts(3), [taken], [Send(b"")]]
        revisions = await settle(engine.commit, commits)

        assert spy.count("COMMIT") == before + 1
        assert revisions == [1, 2, 3, None, 3]
        await engine.close()


async def test_only_a_group_in_which_one_fails_needs_savepoints(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)

        await asyncio.gather(*(engine.commit(put) for put in puts(10)))
        assert spy.count("SAVEPOINT") == 0

        taken = Put("k0001", b"", expected=ABSENT)
        commits: list[list[Operation]] = [[Put("a", b"")], [taken, Put("b", b"")], [Put("c", b"")]]
        assert await settle(engine.commit, commits) == [11, None, 12]
        assert spy.count("SAVEPOINT") == 3
        await engine.close()


async def test_a_transaction_holds_no_more_than_the_limit(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        before = spy.count("COMMIT")

        await asyncio.gather(*(engine.commit(put) for put in puts(MAX_GROUP + 1)))

        assert spy.count("COMMIT") == before + 2
        await engine.close()


async def test_receives_and_commits_share_a_transaction_too(url: str) -> None:
    with spied_connections() as spy:
        engine = await open_engine(url)
        before = spy.count("COMMIT")

        _, deliveries = await asyncio.gather(
            engine.commit([Send(b"job")]), engine.queue.receive(1, lease=LEASE)
        )

        assert spy.count("COMMIT") == before + 1
        assert [delivery.body for delivery in deliveries] == [b"job"]
        await engine.close()


async def test_a_receive_that_finds_nothing_writes_nothing(url: str, path: Path) -> None:
    engine = await open_engine(url)
    await engine.commit([Put("k", b"")])
    log = path.with_name(f"{path.name}-wal")
    before = log.read_bytes()

    assert await engine.queue.receive(1, lease=LEASE) == []

    assert log.read_bytes() == before
    await engine.close()


async def test_an_error_in_one_commit_reaches_only_its_caller(url: str, path: Path) -> None:
    engine = await open_engine(url)
    poison(path, "ABORT")
    commits: list[list[Operation]] = [
        [Put("a", b"")],
        [Put("b", b""), Put("poison", b"")],
        [Put("c", b"")],
    ]

    first, poisoned, last = await settle(engine.commit, commits)

    assert isinstance(poisoned, EngineError)
    assert "poisoned" in str(poisoned)
    assert (first, last) == (1, 2)
    assert await list_all(engine) == ["a", "c"]
    await engine.close()


async def test_an_error_that_ends_the_transaction_reaches_all_callers_and_nothing_is_applied(
    url: str, path: Path
) -> None:
    engine = await open_engine(url)
    poison(path, "ROLLBACK")
    commits: list[list[Operation]] = [[Put("a", b"")], [Put("poison", b"")], [Put("c", b"")]]

    outcomes = await settle(engine.commit, commits)

    assert [type(outcome) for outcome in outcomes] == [EngineError] * 3
    assert await list_all(engine) == []
    assert await engine.commit([Put("afterwards", b"")]) == 1
    await engine.close()


@pytest.mark.parametrize("fault", ["is_full", "fails_to_sync"])
async def test_a_commit_that_fails_is_an_error_for_the_whole_group_and_nothing_is_applied(
    url: str, fault: str
) -> None:
    with faulty_disk() as disk:
        engine = await open_engine(url)
        await engine.commit([Put("before", b"")])

        setattr(disk, fault, True)
        outcomes = await settle(engine.commit, puts(5))
        setattr(disk, fault, False)

        assert [type(outcome) for outcome in outcomes] == [EngineError] * 5
        assert await list_all(engine) == ["before"]
        assert await engine.revision() == 1
        assert await engine.commit([Put("afterwards", b"")]) == 2
        await engine.close()
