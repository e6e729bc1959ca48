"""The numbers an operator sees, in every state a message can be in."""

from datetime import timedelta

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, receive_one
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Drop,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.ports import Engine, QueueStats


async def counts(engine: Engine) -> tuple[int, int, int, int]:
    stats = await engine.queue.stats()
    return stats.ready, stats.leased, stats.delayed, stats.dead


async def test_an_empty_queue_counts_nothing(engine: Engine) -> None:
    assert await engine.queue.stats() == QueueStats(
        ready=0,
        leased=0,
        delayed=0,
        dead=0,
        oldest_ready_age=None,
        delivered_last_minute=0,
        paused_until=None,
    )


async def test_a_message_is_counted_in_the_state_it_is_in(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"", delay=timedelta(seconds=5))])
    assert await counts(engine) == (0, 0, 1, 0)

    clock.advance(seconds=5)
    assert await counts(engine) == (1, 0, 0, 0)

    await receive_one(engine)
    assert await counts(engine) == (0, 1, 0, 0)

    clock.advance(minutes=1)  # the lease has run out
    assert await counts(engine) == (1, 0, 0, 0)

    await engine.commit([Retry(await receive_one(engine), timedelta(seconds=5), "busy")])
    assert await counts(engine) == (0, 0, 1, 0)

    clock.advance(seconds=5)
    await engine.commit([Release(await receive_one(engine))])
    assert await counts(engine) == (1, 0, 0, 0)

    await engine.commit([Bury(await receive_one(engine), "broken")])
    assert await counts(engine) == (0, 0, 0, 1)

    (letter,) = await engine.queue.dead_letters()
    await engine.commit([Requeue(letter.message_id)])
    assert await counts(engine) == (1, 0, 0, 0)

    await engine.commit([Acknowledge(await receive_one(engine))])
    assert await counts(engine) == (0, 0, 0, 0)


async def test_a_dropped_dead_letter_is_no_longer_counted(engine: Engine) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)
    await engine.commit([Bury(delivery, "broken")])

    await engine.commit([Drop(delivery.message_id)])

    assert await counts(engine) == (0, 0, 0, 0)


async def test_many_messages_are_counted_each_in_its_own_state(engine: Engine) -> None:
    await engine.commit([Send(b"", delay=timedelta(hours=n)) for n in range(4)])
    await engine.commit([Send(b"") for _ in range(4)])
    _, _, dead = await engine.queue.receive(3, lease=LEASE)
    await engine.commit([Bury(dead, "broken")])

    assert await counts(engine) == (2, 2, 3, 1)


async def test_the_age_is_that_of_the_message_that_has_been_ready_longest(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"first"), Send(b"delayed", delay=timedelta(minutes=2))])
    clock.advance(minutes=1)
    await engine.commit([Send(b"second")])
    clock.advance(minutes=9)
    assert (await engine.queue.stats()).oldest_ready_age == timedelta(minutes=10)

    await receive_one(engine)
    assert (await engine.queue.stats()).oldest_ready_age == timedelta(minutes=9)

    await receive_one(engine)
    assert (await engine.queue.stats()).oldest_ready_age == timedelta(minutes=8)

    await receive_one(engine)
    assert (await engine.queue.stats()).oldest_ready_age is None


async def test_deliveries_of_the_last_minute_are_counted(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"") for _ in range(5)])
    await engine.queue.receive(2, lease=LEASE)
    clock.advance(seconds=30)
    await engine.queue.receive(1, lease=LEASE)
    await engine.queue.receive(1, lease=LEASE)
    assert (await engine.queue.stats()).delivered_last_minute == 4

    clock.advance(seconds=29)
    assert (await engine.queue.stats()).delivered_last_minute == 4

    clock.advance(seconds=2)
    assert (await engine.queue.stats()).delivered_last_minute == 2

    clock.advance(seconds=30)
    assert (await engine.queue.stats()).delivered_last_minute == 0


async def test_a_prune_does_not_forget_the_deliveries_of_the_last_minute(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"")])
    await receive_one(engine)
    clock.advance(seconds=30)

    await engine.prune(deleted_before=clock.now())

    assert (await engine.queue.stats()).delivered_last_minute == 1
