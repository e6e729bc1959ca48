"""The position of a message in the queue: how many are ahead of it."""

from datetime import timedelta

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, receive_one
from vskill_platform.engines.operations import Acknowledge, Release, Retry, Send
from vskill_platform.engines.ports import Engine


async def places(engine: Engine, *keys: str) -> list[int | None]:
    return [await engine.queue.position(key) for key in keys]


async def test_messages_stand_in_the_order_in_which_they_were_sent(engine: Engine) -> None:
    for key in ("a", "b", "c"):
        await engine.commit([Send(b"", key=key)])

    assert await places(engine, "a", "b", "c", "d") == [1, 2, 3, None]


async def test_a_leased_message_has_no_queue_position(engine: Engine) -> None:
    await engine.commit([Send(b"", key="a"), Send(b"", key="b"), Send(b"", key="c")])

    held = await receive_one(engine)
    assert await places(engine, "a", "b", "c") == [0, 1, 2]
    await engine.commit([Acknowledge(held)])

    assert await places(engine, "a", "b", "c") == [None, 1, 2]


async def test_a_lease_that_ran_out_or_was_given_back_puts_it_in_line_again(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"", key="a"), Send(b"", key="b")])

    await receive_one(engine)
    clock.advance(seconds=LEASE.total_seconds())
    assert await places(engine, "a", "b") == [2, 1]

    held = await receive_one(engine)
    await engine.commit([Release(held)])
    assert set(await places(engine, "a", "b")) == {1, 2}


async def test_delayed_messages_are_positioned_after_ready_ones(engine: Engine) -> None:
    await engine.commit([Send(b"", key="a"), Send(b"", key="late", delay=timedelta(hours=1))])
    held = await receive_one(engine)

    await engine.commit([Retry(held, timedelta(minutes=5), "later")])
    await engine.commit([Send(b"", key="b")])

    assert await places(engine, "b", "a", "late") == [1, 2, 3]
