"""Dead letters: kept with their reason, requeued or dropped by an operator."""

from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import LEASE, receive_bodies, receive_one
from vskill_platform.engines.operations import Acknowledge, Bury, Drop, Requeue, Send
from vskill_platform.engines.ports import DeadLetter, Engine
from vskill_platform.errors import InvalidInput


async def buried(engine: Engine, *sends: Send, reason: str = "broken") -> list[int]:
    """Send, receive and bury; return the ids."""
    await engine.commit(sends)
    deliveries = await engine.queue.receive(len(sends), lease=LEASE)
    await engine.commit([Bury(delivery, reason) for delivery in deliveries])
    return [delivery.message_id for delivery in deliveries]


async def test_a_buried_message_is_kept_with_its_reason_and_attempts(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job", key="sub:1")])
    await receive_one(engine)
    clock.advance(hours=1)
    delivery = await receive_one(engine)
    clock.advance(minutes=5)

    await engine.commit([Bury(delivery, "the archive is a bomb: grün 💣")])

    assert await engine.queue.dead_letters() == [
        DeadLetter(
            message_id=delivery.message_id,
            body=b"job",
            key="sub:1",
            attempts=2,
            reason="the archive is a bomb: grün 💣",
            buried_at=NOON + timedelta(hours=1, minutes=5),
        )
    ]


async def test_a_dead_letter_is_never_delivered(engine: Engine, clock: ManualClock) -> None:
    await buried(engine, Send(b"job"))

    clock.advance(days=365)

    assert await receive_bodies(engine) == []


async def test_a_reason_that_is_no_clean_text_keeps_nothing_from_being_buried(
    engine: Engine,
) -> None:
    await buried(engine, Send(b"job"), reason="no such file: caf\udce9.md")

    (letter,) = await engine.queue.dead_letters()

    assert letter.reason.startswith("no such file: caf")


async def test_dead_letters_are_paged_by_id(engine: Engine) -> None:
    ids = await buried(engine, *(Send(b"%d" % n) for n in range(5)))

    first = await engine.queue.dead_letters(limit=2)
    rest = await engine.queue.dead_letters(after=first[-1].message_id)

    assert [letter.message_id for letter in first + rest] == sorted(ids)
    assert len(first) == 2
    assert await engine.queue.dead_letters(after=ids[-1]) == []


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_page_of_dead_letters_holds_at_least_one(engine: Engine, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await engine.queue.dead_letters(limit=limit)


async def test_a_requeued_message_is_a_new_one_with_all_its_attempts_before_it(
    engine: Engine,
) -> None:
    (dead,) = await buried(engine, Send(b"job", key="sub:1"))

    assert await engine.commit([Requeue(dead)])

    delivery = await receive_one(engine)
    assert delivery.message_id > dead
    assert (delivery.body, delivery.key, delivery.attempt) == (b"job", "sub:1", 1)
    assert await engine.queue.dead_letters() == []


async def test_reviving_while_a_message_with_its_key_waits_drops_the_dead_letter(
    engine: Engine,
) -> None:
    (dead,) = await buried(engine, Send(b"dead", key="sub:1"))
    await engine.commit([Send(b"waiting", key="sub:1")])

    assert await engine.commit([Requeue(dead)])

    assert await engine.queue.dead_letters() == []
    assert await receive_bodies(engine) == [b"waiting"]


async def test_a_dropped_dead_letter_is_gone(engine: Engine) -> None:
    dropped, kept = await buried(engine, Send(b"one"), Send(b"two"))

    assert await engine.commit([Drop(dropped)])

    assert [letter.message_id for letter in await engine.queue.dead_letters()] == [kept]
    assert await receive_bodies(engine) == []


@pytest.mark.parametrize("operation", [Requeue, Drop])
async def test_an_id_that_is_no_dead_letter_is_refused(
    engine: Engine, operation: type[Requeue | Drop]
) -> None:
    (dead,) = await buried(engine, Send(b"one"))
    await engine.commit([Send(b"alive")])
    alive = await receive_one(engine)

    assert await engine.commit([operation(alive.message_id)]) is None
    assert await engine.commit([operation(dead + 1000)]) is None
    assert await engine.commit([operation(dead)])
    assert await engine.commit([operation(dead)]) is None
    assert await engine.commit([Acknowledge(alive)])


async def test_the_same_message_can_die_again(engine: Engine) -> None:
    (first,) = await buried(engine, Send(b"job", key="sub:1"))
    await engine.commit([Requeue(first)])

    await engine.commit([Bury(await receive_one(engine), "still broken")])

    (letter,) = await engine.queue.dead_letters()
    assert (letter.reason, letter.attempts) == ("still broken", 1)


async def test_two_dead_letters_may_have_the_same_key(engine: Engine) -> None:
    ids = [(await buried(engine, Send(b"%d" % n, key="sub:1")))[0] for n in range(2)]

    assert [letter.message_id for letter in await engine.queue.dead_letters()] == ids
    assert await engine.commit([Requeue(ids[0]), Requeue(ids[1])])
    assert await receive_bodies(engine) == [b"0"]
