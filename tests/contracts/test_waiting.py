"""A waiting receive is woken when there is work, without polling."""

import asyncio
from datetime import timedelta

from tests.clocks import ManualClock
from tests.contracts.asking import (
    GUARD_SECONDS,
    LEASE,
    LONG_WAIT,
    receive_bodies,
    receive_one,
    start_waiting,
)
from vskill_platform.engines.operations import Bury, Release, Requeue, Retry, Send
from vskill_platform.engines.ports import Engine

SOON = timedelta(milliseconds=50)


async def test_a_waiting_receive_wakes_up_when_a_message_is_sent(engine: Engine) -> None:
    waiting = await start_waiting(engine)

    await engine.commit([Send(b"job")])

    async with asyncio.timeout(GUARD_SECONDS):
        (delivery,) = await waiting
    assert delivery.body == b"job"


async def test_a_waiting_receive_wakes_up_when_a_message_is_released(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    delivery = await receive_one(engine)
    waiting = await start_waiting(engine)

    await engine.commit([Release(delivery)])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [again.body for again in await waiting] == [b"job"]


async def test_a_waiting_receive_wakes_up_when_the_queue_is_resumed(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(timedelta(hours=1))
    waiting = await start_waiting(engine)

    await engine.queue.resume()

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await waiting] == [b"job"]


async def test_a_message_in_the_queue_is_delivered_without_waiting(engine: Engine) -> None:
    await engine.commit([Send(b"job")])

    async with asyncio.timeout(GUARD_SECONDS):
        (delivery,) = await engine.queue.receive(10, lease=LEASE, wait=LONG_WAIT)

    assert delivery.body == b"job"


async def test_of_two_that_wait_one_gets_the_message_and_the_other_waits_on(
    engine: Engine,
) -> None:
    waiting = {await start_waiting(engine), await start_waiting(engine)}

    await engine.commit([Send(b"one")])
    async with asyncio.timeout(GUARD_SECONDS):
        served, hungry = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [len(served), len(hungry)] == [1, 1]

    await engine.commit([Send(b"two")])
    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.body for delivery in await hungry.pop()] == [b"two"]


async def test_a_receive_gives_up_when_its_wait_is_over(live_engine: Engine) -> None:
    async with asyncio.timeout(GUARD_SECONDS):
        assert await live_engine.queue.receive(1, lease=LEASE, wait=SOON) == []


async def test_a_wait_is_over_even_if_the_clock_went_back_meanwhile(
    engine: Engine, clock: ManualClock
) -> None:
    waiting = asyncio.create_task(engine.queue.receive(1, lease=LEASE, wait=SOON))
    await asyncio.sleep(0)

    clock.advance(hours=-1)

    async with asyncio.timeout(GUARD_SECONDS):
        assert await waiting == []


async def test_a_delayed_message_wakes_the_receive_that_waits_for_it(live_engine: Engine) -> None:
    await live_engine.commit([Send(b"job", delay=SOON)])

    async with asyncio.timeout(GUARD_SECONDS):
        (delivery,) = await live_engine.queue.receive(1, lease=LEASE, wait=LONG_WAIT)

    assert delivery.body == b"job"


async def test_a_delayed_message_wakes_the_receive_that_got_nothing_while_another_did(
    live_engine: Engine,
) -> None:
    await live_engine.commit([Send(b"now"), Send(b"later", delay=timedelta(milliseconds=50))])

    received = await asyncio.gather(
        *(live_engine.queue.receive(1, lease=LEASE, wait=timedelta(hours=1)) for _ in range(2))
    )

    assert [delivery.body for each in received for delivery in each] == [b"now", b"later"]


async def test_a_retried_message_wakes_the_receive_that_waits_for_it(live_engine: Engine) -> None:
    await live_engine.commit([Send(b"job")])
    first = await receive_one(live_engine)
    waiting = await start_waiting(live_engine)

    await live_engine.commit([Retry(first, SOON, "busy")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [delivery.attempt for delivery in await waiting] == [2]


async def test_a_lease_that_runs_out_wakes_the_receive_that_waits_for_it(
    live_engine: Engine,
) -> None:
    await live_engine.commit([Send(b"job")])
    await receive_one(live_engine, lease=SOON)

    async with asyncio.timeout(GUARD_SECONDS):
        (delivery,) = await live_engine.queue.receive(1, lease=LEASE, wait=LONG_WAIT)

    assert delivery.attempt == 2


async def test_a_pause_that_ends_wakes_the_receive_that_waits_for_it(live_engine: Engine) -> None:
    await live_engine.commit([Send(b"job")])
    await live_engine.queue.pause(SOON)

    async with asyncio.timeout(GUARD_SECONDS):
        (delivery,) = await live_engine.queue.receive(1, lease=LEASE, wait=LONG_WAIT)

    assert delivery.body == b"job"


async def test_a_waiting_receive_that_is_cancelled_takes_no_message_with_it(
    engine: Engine,
) -> None:
    waiting = await start_waiting(engine)

    waiting.cancel()
    await asyncio.wait([waiting])
    await engine.commit([Send(b"job")])

    assert await receive_bodies(engine) == [b"job"]


async def test_a_requeued_message_wakes_the_receive_that_waits(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    delivery = await receive_one(engine)
    await engine.commit([Bury(delivery, "broken")])
    waiting = await start_waiting(engine)

    await engine.commit([Requeue(delivery.message_id)])

    async with asyncio.timeout(GUARD_SECONDS):
        assert [again.body for again in await waiting] == [b"job"]
