"""A clock that jumps back leaves nothing stuck: what was due in its future is due now."""

from datetime import timedelta

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, list_all, receive_bodies, receive_one
from vskill_platform.engines.operations import NEVER, Acknowledge, Put, Retry, Send
from vskill_platform.engines.ports import Engine

MINUTE = timedelta(minutes=1)


async def test_a_message_sent_in_the_future_is_delivered(
    engine: Engine, clock: ManualClock
) -> None:
    clock.advance(days=1)
    await engine.commit([Send(b"at once"), Send(b"delayed", delay=MINUTE)])

    clock.advance(days=-1)

    assert sorted(await receive_bodies(engine)) == [b"at once", b"delayed"]


async def test_a_lease_that_began_in_the_future_is_over(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    clock.advance(days=1)
    lost = await receive_one(engine)

    clock.advance(days=-1)

    assert (await receive_one(engine)).attempt == 2
    assert await engine.commit([Acknowledge(lost)]) is None


async def test_a_worker_that_finishes_after_the_clock_went_back_can_still_commit(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job")])
    clock.advance(days=1)
    delivery = await receive_one(engine)

    clock.advance(days=-1)

    assert await engine.commit([Acknowledge(delivery)])


async def test_a_retry_from_the_future_is_delivered(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    clock.advance(days=1)
    await engine.commit([Retry(await receive_one(engine), MINUTE, "busy")])

    clock.advance(days=-1)

    assert await receive_bodies(engine) == [b"job"]


async def test_a_pause_from_the_future_is_over(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    clock.advance(days=1)
    await engine.queue.pause(timedelta(hours=1))

    clock.advance(days=-1)

    assert (await engine.queue.stats()).paused_until is None
    assert await receive_bodies(engine) == [b"job"]
    clock.advance(days=1)
    assert (await engine.queue.stats()).paused_until is None


async def test_a_pause_that_began_before_goes_on(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(timedelta(hours=2))
    clock.advance(hours=1)
    await engine.commit([Put("written", b"an hour later")])

    clock.advance(minutes=-30)

    assert await receive_bodies(engine) == []
    assert await receive_bodies(engine) == []
    assert (await engine.queue.stats()).paused_until is not None


async def test_a_delay_and_a_due_from_before_are_kept(engine: Engine, clock: ManualClock) -> None:
    later = clock.now() + timedelta(hours=2)
    await engine.commit([Send(b"job", delay=timedelta(hours=2)), Put("sub:1", b"", due=later)])
    clock.advance(hours=1)
    await engine.commit([Put("setting:1", b"an hour later", due=NEVER)])

    clock.advance(minutes=-30)
    await engine.commit([Put("setting:1", b"again", due=NEVER)])

    assert await receive_bodies(engine) == []
    assert await list_all(engine, due_before=clock.now()) == []


async def test_a_record_whose_due_was_set_in_the_future_is_listed_as_due(
    engine: Engine, clock: ManualClock
) -> None:
    clock.advance(days=1)
    await engine.commit([Put("sub:1", b"", due=clock.now() + MINUTE), Put("sub:2", b"", due=NEVER)])

    clock.advance(days=-1)
    await engine.commit([Put("setting:1", b"the first write since", due=NEVER)])

    assert await list_all(engine, due_before=clock.now()) == ["sub:1"]


async def test_a_clock_that_only_trembles_changes_nothing(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"leased"), Send(b"delayed", delay=MINUTE)])
    await engine.commit([Put("sub:1", b"", due=clock.now() + MINUTE)])
    await receive_one(engine)

    clock.advance(seconds=-1)

    assert await engine.queue.receive(9, lease=LEASE) == []
    assert await list_all(engine, due_before=clock.now()) == []


async def test_a_clock_that_creeps_back_in_small_steps_is_noticed_too(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job")])
    await receive_one(engine)

    for _ in range(10):
        clock.advance(seconds=-3)
        await engine.commit([Put("written", b"all the while")])

    assert await receive_bodies(engine) == [b"job"]


async def test_the_deliveries_of_the_future_are_not_those_of_the_last_minute(
    engine: Engine, clock: ManualClock
) -> None:
    clock.advance(days=1)
    await engine.commit([Send(b"job")])
    await receive_one(engine)

    clock.advance(days=-1)

    assert (await engine.queue.stats()).delivered_last_minute == 0


@pytest.mark.parametrize("days", [1, -1])
async def test_a_clock_that_jumps_far_neither_loses_nor_repeats_changes(
    engine: Engine, clock: ManualClock, days: int
) -> None:
    revisions = []
    for n in range(4):
        revisions.append(await engine.commit([Put(f"k{n}", b"")]))
        clock.advance(days=days)

    feed = engine.changes(after=0)
    assert [(await anext(feed)).revision for _ in range(4)] == revisions


async def test_once_it_went_back_the_new_time_is_the_time(
    engine: Engine, clock: ManualClock
) -> None:
    clock.advance(days=1)
    await engine.commit([Send(b"job")])
    clock.advance(days=-1)
    await receive_one(engine)

    clock.advance(seconds=-1)  # no more than it trembles

    assert await engine.queue.receive(1, lease=LEASE) == []
