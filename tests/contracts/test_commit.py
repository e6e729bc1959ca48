"""One commit over records and messages: all or nothing, each alone."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.contracts.asking import LEASE, list_all, receive_bodies, receive_one, value_of
from vskill_platform.base.settle import settle
from vskill_platform.engines.operations import (
    ABSENT,
    Acknowledge,
    Bury,
    Delete,
    Delivery,
    Drop,
    Expect,
    Operation,
    Put,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput

MINUTE = timedelta(minutes=1)
#: Each is refused: of the delivery, it is said that it was acknowledged already.
REFUSED: dict[str, Callable[[Delivery], Operation]] = {
    "put": lambda _: Put("guarded", b"changed", expected=ABSENT),
    "delete": lambda _: Delete("guarded", expected=ABSENT),
    "expect": lambda _: Expect("guarded", ABSENT),
    "acknowledge": Acknowledge,
    "retry": lambda delivery: Retry(delivery, MINUTE, "busy"),
    "release": Release,
    "bury": lambda delivery: Bury(delivery, "broken"),
    "revive": lambda delivery: Requeue(delivery.message_id),
    "drop": lambda delivery: Drop(delivery.message_id),
}


async def test_only_one_of_many_commits_wins(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"received")])
    seen = await engine.kv.get("sub:1")
    assert seen is not None

    wins = await asyncio.gather(
        *(engine.commit([Put("sub:1", b"by %d" % n, expected=seen.revision)]) for n in range(8))
    )

    assert sum(win is not None for win in wins) == 1


async def test_an_expectation_changes_nothing_and_decides_all(engine: Engine) -> None:
    revision = await engine.commit([Put("there", b"as it was")])
    assert revision is not None

    wins = [
        await engine.commit([Expect("there", revision), Expect("gone", ABSENT), Put("one", b"")]),
        await engine.commit([Expect("there", revision - 1), Put("two", b"")]),
        await engine.commit([Expect("gone", revision), Put("three", b"")]),
    ]

    assert [win is not None for win in wins] == [True, False, False]
    seen = await engine.kv.get("there")
    assert seen
    assert (seen.value, seen.revision) == (b"as it was", revision)
    assert await list_all(engine) == ["one", "there"]


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("refused", REFUSED)
async def test_a_commit_with_one_refused_operation_changes_nothing(
    engine: Engine, refused: str, *, first: bool
) -> None:
    await engine.commit([Put("guarded", b"as it was"), Put("there", b"")])
    await engine.commit([Send(b"done"), Send(b"leased")])
    done, leased = await engine.queue.receive(2, lease=LEASE)
    await engine.commit([Acknowledge(done)])
    before = await engine.revision()
    fine: list[Operation] = [Put("new", b""), Delete("there"), Send(b"new"), Acknowledge(leased)]
    bad = REFUSED[refused](done)

    assert await engine.commit([bad, *fine] if first else [*fine, bad]) is None

    assert await engine.revision() == before
    assert await list_all(engine) == ["guarded", "there"]
    assert await value_of(engine, "guarded") == b"as it was"
    assert await receive_bodies(engine) == []
    assert await engine.commit([Acknowledge(leased)])


async def test_a_commit_applies_records_and_messages_together(engine: Engine) -> None:
    await engine.commit([Put("sub:1", b"received"), Send(b"scan 1")])
    delivery = await receive_one(engine)

    assert await engine.commit(
        [Put("sub:1", b"published"), Put("skill:1", b""), Send(b"tell"), Acknowledge(delivery)]
    )

    assert await value_of(engine, "sub:1") == b"published"
    assert await list_all(engine) == ["skill:1", "sub:1"]
    assert await receive_bodies(engine) == [b"tell"]


async def test_revisions_rise_with_every_commit_that_writes_records(engine: Engine) -> None:
    revisions = [
        await engine.commit([Put("a", b"")]),
        await engine.commit([Put("b", b""), Send(b"")]),
        await engine.commit([Delete("a")]),
    ]

    assert None not in revisions
    assert revisions == sorted(set(revisions), key=lambda revision: revision or 0)
    assert await engine.revision() == revisions[-1]


async def test_a_commit_without_records_takes_no_revision(engine: Engine) -> None:
    sent = await engine.commit([Send(b"first")])
    written = await engine.commit([Put("a", b"")])
    expected = await engine.commit([Expect("a", written or 0), Send(b"second")])

    assert (sent, written, expected) == (1, 1, 1)
    assert await engine.revision() == 1


async def test_a_refused_commit_uses_up_no_revision(engine: Engine) -> None:
    before = await engine.commit([Put("a", b"")])

    await engine.commit([Put("a", b"", expected=ABSENT)])

    assert await engine.revision() == before


async def test_concurrent_commits_stand_or_fall_alone(engine: Engine) -> None:
    await engine.commit([Put(f"taken:{n}", b"") for n in range(0, 40, 2)])

    revisions = await asyncio.gather(
        *(
            engine.commit([Put(f"mine:{n}", b""), Put(f"taken:{n}", b"", expected=ABSENT)])
            for n in range(40)
        )
    )

    applied = [n for n, revision in enumerate(revisions) if revision is not None]
    assert applied == list(range(1, 40, 2))
    assert await list_all(engine, "mine:") == sorted(f"mine:{n}" for n in applied)
    assert len(set(revisions)) == 21


@pytest.mark.parametrize(
    "unstorable",
    [
        Put("sub:1", b"", due=datetime(2026, 3, 14)),  # noqa: DTZ001 - the mistake it is about
        Put("sub:1", b"", expires_at=datetime(2026, 3, 14)),  # noqa: DTZ001 - the same
        Requeue(2**70),
        Put("", b""),
    ],
    ids=["naive due", "naive expiry", "endless id", "no key"],
)
async def test_an_invalid_commit_is_refused_and_others_succeed(
    engine: Engine, unstorable: Operation
) -> None:
    commits: list[list[Operation]] = [
        [Put("a", b"")],
        [Put("beside it", b""), unstorable],
        [Put("b", b"")],
    ]

    first, refused, last = await settle(engine.commit, commits)

    assert isinstance(refused, InvalidInput)
    assert isinstance(first, int)
    assert isinstance(last, int)
    assert await list_all(engine) == ["a", "b"]


async def test_a_cancelled_caller_does_not_spoil_the_others(engine: Engine) -> None:
    commits = [asyncio.create_task(engine.commit([Put(f"k{n}", b"")])) for n in range(5)]
    await asyncio.sleep(0)

    commits[2].cancel()
    revisions = await asyncio.gather(*commits, return_exceptions=True)

    assert isinstance(revisions[2], asyncio.CancelledError)
    assert {"k0", "k1", "k3", "k4"} <= set(await list_all(engine))
    assert await engine.commit([Put("afterwards", b"")])


async def test_a_commit_of_nothing_is_a_commit(engine: Engine) -> None:
    assert await engine.commit([]) is not None
    assert await engine.revision() == 0


async def test_a_commit_of_many_records_writes_new_ones_and_changes_old_ones(
    engine: Engine,
) -> None:
    await engine.commit([Put(f"{number:02}", b"old", marks=("old",)) for number in range(0, 50, 3)])
    records = {f"{number:02}": b"new %d" % number for number in range(50)}

    await engine.commit(
        [Put(key, value, marks=("new",), rank=int(key)) for key, value in records.items()]
    )

    assert {key: await value_of(engine, key) for key in await list_all(engine)} == records
    assert await engine.kv.find_marked(["old", "new"]) == [[], list(records)]
