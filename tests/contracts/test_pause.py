"""A paused queue delivers nothing, and a pause always ends."""

from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import LEASE, receive_bodies, receive_one
from vskill_platform.engines.operations import Acknowledge, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.errors import InvalidInput

HOUR = timedelta(hours=1)


async def test_a_paused_queue_hands_out_nothing(engine: Engine) -> None:
    await engine.commit([Send(b"before")])
    await engine.queue.pause(HOUR)
    await engine.commit([Send(b"after")])

    assert await engine.queue.receive(10, lease=LEASE) == []
    assert (await engine.queue.stats()).ready == 2


async def test_a_pause_ends_by_itself(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(HOUR)

    clock.advance(hours=1, microseconds=-1)
    assert await receive_bodies(engine) == []

    clock.advance(microseconds=1)
    assert await receive_bodies(engine) == [b"job"]


async def test_resuming_ends_a_pause(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(HOUR)

    await engine.queue.resume()

    assert await receive_bodies(engine) == [b"job"]
    assert (await engine.queue.stats()).paused_until is None


async def test_resuming_a_queue_that_is_not_paused_does_nothing(engine: Engine) -> None:
    await engine.commit([Send(b"job")])

    await engine.queue.resume()

    assert await receive_bodies(engine) == [b"job"]


async def test_a_second_pause_replaces_the_first(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(HOUR)
    await engine.queue.pause(timedelta(minutes=1))

    clock.advance(minutes=1)

    assert await receive_bodies(engine) == [b"job"]


async def test_the_stats_tell_until_when_the_queue_is_paused(
    engine: Engine, clock: ManualClock
) -> None:
    assert (await engine.queue.stats()).paused_until is None

    await engine.queue.pause(HOUR)
    assert (await engine.queue.stats()).paused_until == NOON + HOUR

    clock.advance(hours=1)
    assert (await engine.queue.stats()).paused_until is None


@pytest.mark.parametrize("duration", [timedelta(0), timedelta(seconds=-1)])
async def test_a_pause_without_a_duration_is_refused(engine: Engine, duration: timedelta) -> None:
    await engine.commit([Send(b"job")])

    with pytest.raises(InvalidInput, match="pause"):
        await engine.queue.pause(duration)

    assert await receive_bodies(engine) == [b"job"]


@pytest.mark.parametrize("duration", [timedelta(days=365 * 9000), timedelta.max])
async def test_a_pause_beyond_all_calendars_can_still_be_seen_and_ended(
    engine: Engine, duration: timedelta
) -> None:
    await engine.queue.pause(duration)
    assert (await engine.queue.stats()).paused_until is not None

    await engine.queue.resume()

    assert (await engine.queue.stats()).paused_until is None


async def test_a_message_delivered_before_a_pause_can_be_acknowledged_in_it(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    delivery = await receive_one(engine)

    await engine.queue.pause(HOUR)

    assert await engine.commit([Acknowledge(delivery)])


async def test_a_pause_holds_for_every_engine_on_the_database(
    engine: Engine, other_engine: Engine
) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(HOUR)
    assert await receive_bodies(other_engine) == []

    await other_engine.queue.resume()

    assert await receive_bodies(engine) == [b"job"]
