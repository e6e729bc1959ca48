"""Receive: oldest first, leased to one receiver at a time, ready again when a lease expires."""

import asyncio
from datetime import timedelta

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, receive_bodies, receive_one
from vskill_platform.engines.operations import Acknowledge, Delivery, Send
from vskill_platform.engines.ports import BACKGROUND, BusyResources, Engine
from vskill_platform.errors import InvalidInput


async def test_an_empty_queue_hands_out_nothing(engine: Engine) -> None:
    assert await engine.queue.receive(10, lease=LEASE) == []


async def test_a_delivery_holds_what_was_sent(engine: Engine) -> None:
    await engine.commit([Send(b"\x00body", key="sub:1"), Send(b"")])

    first, second = await engine.queue.receive(2, lease=LEASE)

    assert (first.body, first.key, first.attempt) == (b"\x00body", "sub:1", 1)
    assert (second.body, second.key, second.attempt) == (b"", None, 1)
    assert first.message_id != second.message_id


async def test_messages_are_delivered_in_the_order_they_were_sent(
    engine: Engine, clock: ManualClock
) -> None:
    for n in range(3):
        await engine.commit([Send(b"%d" % n), Send(b"%d and a half" % n)])
        clock.advance(seconds=1)

    assert await receive_bodies(engine, 1) == [b"0"]
    assert await receive_bodies(engine, 2) == [b"0 and a half", b"1"]
    assert await receive_bodies(engine, 9) == [b"1 and a half", b"2", b"2 and a half"]


async def test_the_message_that_was_ready_first_goes_first(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"delayed", delay=timedelta(seconds=10)), Send(b"ready")])
    clock.advance(seconds=20)
    await engine.commit([Send(b"late")])

    assert [await receive_bodies(engine, 1) for _ in range(3)] == [
        [b"ready"],
        [b"delayed"],
        [b"late"],
    ]


async def test_no_more_than_the_limit_are_delivered(engine: Engine) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(5)])

    assert len(await engine.queue.receive(3, lease=LEASE)) == 3
    assert len(await engine.queue.receive(3, lease=LEASE)) == 2


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_receive_asks_for_at_least_one(engine: Engine, limit: int) -> None:
    await engine.commit([Send(b"")])

    with pytest.raises(InvalidInput, match="limit"):
        await engine.queue.receive(limit, lease=LEASE)

    assert (await engine.queue.stats()).ready == 1


async def test_a_leased_message_is_not_delivered_again(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"")])
    await receive_one(engine, lease=timedelta(minutes=1))

    clock.advance(minutes=1, microseconds=-1)

    assert await engine.queue.receive(1, lease=LEASE) == []


async def test_concurrent_receives_share_the_messages_out(engine: Engine) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(20)])

    batches = await asyncio.gather(*(engine.queue.receive(3, lease=LEASE) for _ in range(10)))

    ids = [delivery.message_id for batch in batches for delivery in batch]
    assert len(ids) == len(set(ids)) == 20


async def test_a_lease_that_ran_out_makes_the_message_ready_again(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job", key="sub:1")])
    first = await receive_one(engine, lease=timedelta(minutes=1))

    clock.advance(minutes=1)
    second = await receive_one(engine)

    assert second == Delivery(
        message_id=first.message_id, token=second.token, body=b"job", key="sub:1", attempt=2
    )
    assert second.token > first.token


async def test_every_delivery_counts_even_if_nobody_answers(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"kills its worker")])

    attempts = []
    for _ in range(4):
        attempts.append((await receive_one(engine)).attempt)
        clock.advance(hours=1)

    assert attempts == [1, 2, 3, 4]


async def test_a_delayed_message_is_ready_at_its_moment(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"later", delay=timedelta(seconds=30))])

    clock.advance(seconds=30, microseconds=-1)
    assert await receive_bodies(engine) == []

    clock.advance(microseconds=1)
    assert await receive_bodies(engine) == [b"later"]


@pytest.mark.parametrize("span", [timedelta(days=365 * 9000), timedelta.max])
async def test_a_delay_or_lease_beyond_all_calendars_harms_nobody(
    engine: Engine, span: timedelta
) -> None:
    await engine.commit([Send(b"in a distant future", delay=span), Send(b"now")])

    assert (await receive_one(engine, lease=span)).body == b"now"
    assert await engine.queue.receive(1, lease=LEASE, wait=timedelta(milliseconds=1)) == []
    stats = await engine.queue.stats()
    assert (stats.delayed, stats.leased) == (1, 1)


async def test_a_cancelled_receive_loses_no_message_beyond_its_lease(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(5)])
    receiving = asyncio.create_task(engine.queue.receive(5, lease=timedelta(minutes=1)))
    await asyncio.sleep(0)

    receiving.cancel()
    await asyncio.wait([receiving])
    await engine.commit([])  # whatever the receive still does is done before this
    clock.advance(minutes=1)

    assert receiving.cancelled()
    assert len(await engine.queue.receive(9, lease=LEASE)) == 5


async def test_receivers_who_ask_at_once_get_no_more_than_they_asked_for_and_nothing_twice(
    engine: Engine,
) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(7)])

    received = await asyncio.gather(
        *(engine.queue.receive(limit, lease=LEASE) for limit in (3, 1, 2, 5))
    )

    assert [len(deliveries) for deliveries in received] == [3, 1, 2, 1]
    assert sorted(delivery.body for each in received for delivery in each) == [
        b"%d" % n for n in range(7)
    ]


async def test_receivers_who_ask_at_once_for_different_messages_get_them(engine: Engine) -> None:
    await engine.commit([Send(b"main"), Send(b"behind", group=BACKGROUND)])
    await engine.commit([Send(b"busy", resource="disk")])

    behind, main = await asyncio.gather(
        engine.queue.receive(9, lease=LEASE, background=True),
        engine.queue.receive(9, lease=LEASE, busy=BusyResources(resources=("disk",))),
    )

    assert [delivery.body for delivery in behind] == [b"behind"]
    assert [delivery.body for delivery in main] == [b"main"]


async def test_an_acknowledged_message_never_comes_back(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)

    await engine.commit([Acknowledge(delivery)])
    clock.advance(days=1)

    assert await engine.queue.receive(1, lease=LEASE) == []
