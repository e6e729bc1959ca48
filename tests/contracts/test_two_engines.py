"""Two engines on one database, as two processes have: they notify each other and lose nothing."""

import asyncio
from datetime import timedelta

from tests.clocks import ManualClock
from tests.contracts.asking import (
    GUARD_SECONDS,
    LEASE,
    list_all,
    receive_bodies,
    receive_one,
    start_waiting,
    value_of,
)
from vskill_platform.engines.operations import ABSENT, Acknowledge, Expect, Put, Send
from vskill_platform.engines.ports import Engine, RecordChange


async def test_one_engine_reads_what_another_committed(
    engine: Engine, other_engine: Engine
) -> None:
    revision = await engine.commit([Put("sub:1", b"one")])

    assert await value_of(other_engine, "sub:1") == b"one"
    assert await other_engine.revision() == revision


async def test_a_waiting_receive_wakes_up_when_another_engine_sends(
    engine: Engine, other_engine: Engine
) -> None:
    waiting = await start_waiting(engine)

    await other_engine.commit([Send(b"from afar")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await waiting] == [b"from afar"]


async def test_a_waiting_receive_wakes_up_when_another_engine_resumes_the_queue(
    engine: Engine, other_engine: Engine
) -> None:
    await engine.commit([Send(b"job")])
    await other_engine.queue.pause(timedelta(hours=1))
    waiting = await start_waiting(engine)

    await other_engine.queue.resume()

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await waiting] == [b"job"]


async def test_a_follower_receives_what_another_engine_commits(
    engine: Engine, other_engine: Engine
) -> None:
    feed = engine.changes(after=0)
    following = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0)

    revision = await other_engine.commit([Put("sub:1", b"")])

    assert revision is not None
    async with asyncio.timeout(GUARD_SECONDS):
        assert await following == RecordChange(revision, ("sub:1",))


async def test_a_message_leased_by_one_engine_is_not_given_to_another(
    engine: Engine, other_engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job")])
    mine = await receive_one(engine)
    assert await receive_bodies(other_engine) == []

    clock.advance(minutes=1)
    theirs = await receive_one(other_engine)

    assert await engine.commit([Acknowledge(mine)]) is None
    assert await other_engine.commit([Acknowledge(theirs)])


async def test_a_delivery_may_be_answered_by_another_engine(
    engine: Engine, other_engine: Engine
) -> None:
    await engine.commit([Send(b"job")])

    assert await other_engine.commit([Acknowledge(await receive_one(engine))])
    assert (await engine.queue.stats()).leased == 0


async def test_of_two_engines_that_claim_the_same_keys_each_key_has_one_winner(
    engine: Engine, other_engine: Engine
) -> None:
    claims = [
        claimer.commit([Put(f"lock:{n}", b"", expected=ABSENT)])
        for n in range(50)
        for claimer in (engine, other_engine)
    ]

    revisions = await asyncio.gather(*claims)

    for mine, theirs in zip(revisions[::2], revisions[1::2], strict=True):
        assert (mine is None) != (theirs is None)


async def test_two_engines_that_write_at_once_lose_nothing(
    engine: Engine, other_engine: Engine
) -> None:
    async def write(by: Engine, name: str) -> list[int | None]:
        return [await by.commit([Put(f"{name}:{n}", b""), Send(b"")]) for n in range(25)]

    writers = [write(engine, f"a{n}") for n in range(4)]
    writers += [write(other_engine, f"b{n}") for n in range(4)]
    revisions = [revision for mine in await asyncio.gather(*writers) for revision in mine]

    assert None not in revisions
    assert len(set(revisions)) == 200
    assert len(await list_all(engine, limit=70)) == 200
    assert (await other_engine.queue.stats()).ready == 200


async def test_two_engines_that_receive_at_once_share_the_messages_out(
    engine: Engine, other_engine: Engine
) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(60)])

    async def work_off(by: Engine) -> list[bytes]:
        done: list[bytes] = []
        while deliveries := await by.queue.receive(3, lease=LEASE):
            done += [delivery.body for delivery in deliveries]
            await by.commit([Acknowledge(delivery) for delivery in deliveries])
        return done

    shares = await asyncio.gather(*(work_off(by) for by in (engine, other_engine) * 3))

    done = [body for share in shares for body in share]
    assert sorted(done) == sorted(b"%d" % n for n in range(60))


async def test_an_expectation_holds_against_a_concurrent_write_of_another_engine(
    engine: Engine, other_engine: Engine
) -> None:
    """A block and a publication: if both are applied, the publication came first."""
    for n in range(30):
        blocked, published = await asyncio.gather(
            engine.commit([Put(f"block:{n}", b"", expected=ABSENT)]),
            other_engine.commit([Expect(f"block:{n}", ABSENT), Put(f"skill:{n}", b"")]),
        )

        assert blocked is not None
        assert published is None or published < blocked
