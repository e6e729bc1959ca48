"""Background messages have a separate queue and separate figures; nothing waits for them."""

from datetime import timedelta

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Delivery,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.ports import (
    BACKGROUND,
    LOOK_AHEAD,
    BackgroundStats,
    BusyResources,
    Engine,
)


async def send_background(engine: Engine, *bodies: bytes) -> None:
    await engine.commit([Send(body, key=body.decode(), group=BACKGROUND) for body in bodies])


async def receive_background(engine: Engine, limit: int = 10) -> list[Delivery]:
    return await engine.queue.receive(limit, lease=LEASE, background=True)


async def counts(engine: Engine) -> BackgroundStats:
    return (await engine.queue.stats()).background


async def test_background_messages_are_delivered_only_to_those_who_ask_for_them(
    engine: Engine,
) -> None:
    await send_background(engine, b"first", b"second")
    await engine.commit([Send(b"submission", key="submission", group="ada")])

    ordinary = await engine.queue.receive(10, lease=LEASE)
    busy = await engine.queue.receive(10, lease=LEASE, busy=BusyResources(groups=("ben",)))
    background = await receive_background(engine)

    assert [each.body for each in ordinary] == [b"submission"]
    assert busy == []
    assert [each.body for each in background] == [b"first", b"second"]
    assert {each.group for each in background} == {BACKGROUND}


async def test_many_background_messages_hide_no_message_behind_busy_resources(
    engine: Engine,
) -> None:
    await send_background(engine, *(b"%d" % number for number in range(LOOK_AHEAD + 1)))
    await engine.commit([Send(b"busy", group="ada", resource="slow.example")])
    await engine.commit([Send(b"free", group="ben", resource="fast.example")])

    received = await engine.queue.receive(
        10, lease=LEASE, busy=BusyResources(resources=("slow.example",))
    )

    assert [each.body for each in received] == [b"free"]


async def test_background_messages_take_no_turns_of_others(engine: Engine) -> None:
    await engine.commit([Send(b"%d" % number, group="ada") for number in range(3)])
    await send_background(engine, b"b0", b"b1", b"b2")
    assert len(await receive_background(engine)) == 3
    await engine.commit([Send(b"of ben", group="ben")])

    received = [(await engine.queue.receive(1, lease=LEASE))[0].body for _ in range(4)]

    assert received == [b"0", b"of ben", b"1", b"2"]


async def test_a_retried_background_message_goes_behind_the_others(
    engine: Engine, clock: ManualClock
) -> None:
    await send_background(engine, b"a", b"b")
    (first,) = await receive_background(engine, 1)
    await engine.commit([Retry(first, timedelta(seconds=5), "busy")])
    clock.advance(seconds=5)
    await send_background(engine, b"c")

    received = await receive_background(engine)

    assert [(each.body, each.attempt) for each in received] == [(b"b", 1), (b"a", 2), (b"c", 1)]


async def test_a_background_message_that_is_released_keeps_its_place(engine: Engine) -> None:
    await send_background(engine, b"a", b"b")
    (first,) = await receive_background(engine, 1)
    await engine.commit([Release(first)])

    received = await receive_background(engine)

    assert [(each.body, each.attempt) for each in received] == [(b"a", 1), (b"b", 1)]


async def test_a_key_is_queued_once_until_its_message_ends(engine: Engine) -> None:
    await send_background(engine, b"a")
    await send_background(engine, b"a")
    (first,) = await receive_background(engine)
    await send_background(engine, b"a")
    assert await receive_background(engine) == []
    await engine.commit([Acknowledge(first)])
    await send_background(engine, b"a")

    (second,) = await receive_background(engine)

    assert (second.body, second.attempt) == (b"a", 1)
    assert second.message_id != first.message_id


async def test_a_lost_background_message_is_delivered_again_to_the_background(
    engine: Engine, clock: ManualClock
) -> None:
    await send_background(engine, b"a")
    (lost,) = await receive_background(engine)
    clock.advance(seconds=LEASE.total_seconds())

    assert await engine.queue.receive(10, lease=LEASE) == []
    (again,) = await receive_background(engine)

    assert (again.message_id, again.attempt) == (lost.message_id, 2)
    assert await engine.commit([Acknowledge(lost)]) is None


async def test_background_messages_are_counted_apart_in_every_state(
    engine: Engine, clock: ManualClock
) -> None:
    before = await engine.queue.stats()
    await engine.commit([Send(b"a", group=BACKGROUND, delay=timedelta(seconds=5))])
    seen = [await counts(engine)]
    clock.advance(seconds=5)
    seen.append(await counts(engine))
    (delivery,) = await receive_background(engine)
    seen.append(await counts(engine))
    clock.advance(seconds=LEASE.total_seconds())
    seen.append(await counts(engine))
    (delivery,) = await receive_background(engine)
    await engine.commit([Release(delivery)])
    seen.append(await counts(engine))
    stats = await engine.queue.stats()

    assert seen == [
        BackgroundStats(delayed=1),
        BackgroundStats(ready=1),
        BackgroundStats(leased=1),
        BackgroundStats(ready=1),
        BackgroundStats(ready=1),
    ]
    assert (stats.ready, stats.leased, stats.delayed) == (0, 0, 0)
    assert stats.oldest_ready_age is None
    assert stats.delivered_last_minute == before.delivered_last_minute == 0
    assert await engine.queue.count_group(BACKGROUND) == 1


async def test_a_background_message_is_buried_and_requeued_in_its_line(engine: Engine) -> None:
    await send_background(engine, b"a")
    (delivery,) = await receive_background(engine)
    await engine.commit([Bury(delivery, "broken")])
    buried = await engine.queue.stats()
    await engine.commit([Requeue(delivery.message_id)])

    assert await engine.queue.receive(10, lease=LEASE) == []
    (requeued,) = await receive_background(engine)

    assert (buried.dead, buried.background) == (1, BackgroundStats())
    assert (requeued.body, requeued.attempt) == (b"a", 1)


async def test_a_submission_does_not_wait_for_background_work(
    engine: Engine, clock: ManualClock
) -> None:
    await send_background(engine, b"a", b"b")
    await engine.commit([Send(b"c", group=BACKGROUND, delay=timedelta(seconds=1))])
    await engine.commit([Send(b"ready", key="ready", group="ada")])
    await engine.commit([Send(b"late", key="late", group="ada", delay=timedelta(seconds=5))])

    assert await engine.queue.position("ready") == 1
    assert await engine.queue.position("late") == 2


async def test_a_paused_queue_delivers_no_background_messages(engine: Engine) -> None:
    await send_background(engine, b"a")
    await engine.queue.pause(timedelta(minutes=1))

    paused = await receive_background(engine)
    await engine.queue.resume()

    assert paused == []
    assert len(await receive_background(engine)) == 1
