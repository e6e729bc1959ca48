"""The operations on a delivery, and that a replaced delivery has no effect."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, receive_bodies, receive_one
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Delivery,
    Operation,
    Release,
    Retry,
    Send,
)
from vskill_platform.engines.ports import Engine

Answer = Callable[[Delivery], Operation]
ANSWERS: dict[str, Answer] = {
    "acknowledge": Acknowledge,
    "retry": lambda delivery: Retry(delivery, timedelta(0), "busy"),
    "release": Release,
    "bury": lambda delivery: Bury(delivery, "broken"),
}
each_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
each_first_answer = pytest.mark.parametrize("first_answer", ANSWERS.values(), ids=ANSWERS)


@each_answer
async def test_an_answer_to_a_delivery_that_was_replaced_is_refused_and_changes_nothing(
    engine: Engine, clock: ManualClock, answer: Answer
) -> None:
    await engine.commit([Send(b"", key="sub:1")])
    old = await receive_one(engine)
    clock.advance(minutes=1)
    new = await receive_one(engine)
    before = await engine.queue.stats()

    assert await engine.commit([answer(old)]) is None

    assert await engine.queue.stats() == before
    assert await engine.commit([Acknowledge(new)])


@each_answer
async def test_an_answer_after_the_lease_is_good_while_nobody_else_has_the_message(
    engine: Engine, clock: ManualClock, answer: Answer
) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)

    clock.advance(hours=1)

    assert await engine.commit([answer(delivery)])


@each_first_answer
@each_answer
async def test_a_delivery_is_answered_once(
    engine: Engine, first_answer: Answer, answer: Answer
) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)

    assert await engine.commit([first_answer(delivery)])
    before = await engine.queue.stats()

    assert await engine.commit([answer(delivery)]) is None
    assert await engine.queue.stats() == before


@each_answer
async def test_of_many_answers_at_once_one_counts(engine: Engine, answer: Answer) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)

    revisions = await asyncio.gather(*(engine.commit([answer(delivery)]) for _ in range(8)))

    assert sum(revision is not None for revision in revisions) == 1


@each_first_answer
@each_answer
async def test_two_answers_in_one_commit_are_refused_together(
    engine: Engine, first_answer: Answer, answer: Answer
) -> None:
    await engine.commit([Send(b"")])
    delivery = await receive_one(engine)

    assert await engine.commit([first_answer(delivery), answer(delivery)]) is None
    assert (await engine.queue.stats()).leased == 1


@each_answer
async def test_an_answer_to_an_unknown_message_is_refused(engine: Engine, answer: Answer) -> None:
    invented = Delivery(message_id=7, token=1, body=b"", key=None, attempt=1)

    assert await engine.commit([answer(invented)]) is None


async def test_an_acknowledged_message_leaves_the_others_alone(engine: Engine) -> None:
    await engine.commit([Send(b"one"), Send(b"two")])
    one, two = await engine.queue.receive(2, lease=LEASE)

    await engine.commit([Acknowledge(one)])

    assert (await engine.queue.stats()).leased == 1
    assert await engine.commit([Acknowledge(two)])


async def test_a_retried_message_comes_back_after_its_delay_with_the_next_attempt(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"job", key="sub:1")])
    first = await receive_one(engine)
    await engine.commit([Retry(first, timedelta(minutes=5), "the source did not answer")])

    clock.advance(minutes=5, microseconds=-1)
    assert await receive_bodies(engine) == []

    clock.advance(microseconds=1)
    second = await receive_one(engine)
    assert (second.message_id, second.body, second.key) == (first.message_id, b"job", "sub:1")
    assert second.attempt == 2
    assert second.token > first.token


async def test_a_released_message_is_ready_at_once_and_the_delivery_did_not_count(
    engine: Engine,
) -> None:
    await engine.commit([Send(b"job", key="sub:1")])
    first = await receive_one(engine)

    await engine.commit([Release(first)])
    second = await receive_one(engine)

    assert (second.message_id, second.body, second.key) == (first.message_id, b"job", "sub:1")
    assert second.attempt == 1
    assert second.token > first.token


async def test_a_release_takes_back_its_own_attempt_only(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit([Send(b"")])
    await receive_one(engine)
    clock.advance(hours=1)
    await engine.commit([Release(await receive_one(engine))])

    assert (await receive_one(engine)).attempt == 2


async def test_deliveries_of_one_commit_are_answered_each_in_its_way(engine: Engine) -> None:
    await engine.commit([Send(b"%d" % n) for n in range(4)])
    done, again, back, dead = await engine.queue.receive(4, lease=LEASE)

    await engine.commit(
        [Acknowledge(done), Retry(again, timedelta(1), "busy"), Release(back), Bury(dead, "broken")]
    )

    stats = await engine.queue.stats()
    assert (stats.ready, stats.leased, stats.delayed, stats.dead) == (1, 0, 1, 1)
    assert await receive_bodies(engine) == [back.body]
