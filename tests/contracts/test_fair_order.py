"""Fair order: groups take turns, a retry comes after new work, and every message is delivered."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import ManualClock
from tests.contracts.asking import LEASE, receive_bodies, receive_one
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Extend,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.ports import MAX_POSITION, RETRY_PENALTY, BusyResources, Engine
from vskill_platform.errors import InvalidInput


def of(group: str, *bodies: str, resource: str = "") -> list[Send]:
    return [Send(body.encode(), key=body, group=group, resource=resource) for body in bodies]


async def receive_in_turn(engine: Engine, count: int) -> list[str]:
    return [(await receive_one(engine)).body.decode() for _ in range(count)]


async def test_groups_take_turns_whatever_each_has_waiting(engine: Engine) -> None:
    await engine.commit(of("ada", "a1", "a2", "a3", "a4"))
    await engine.commit(of("ben", "b1", "b2"))
    await engine.commit(of("cyd", "c1"))

    assert await receive_in_turn(engine, 7) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


async def test_a_message_of_another_group_is_delivered_next_though_thousands_wait(
    engine: Engine,
) -> None:
    await engine.commit([Send(b"ada", group="ada") for _ in range(5_000)])
    await engine.queue.receive(1_000, lease=LEASE)

    await engine.commit(of("ben", "b1"))

    assert await engine.queue.position("b1") == 2
    assert "b1" in await receive_in_turn(engine, 2)


async def test_a_batch_holds_messages_of_all_groups_in_order(engine: Engine) -> None:
    await engine.commit([*of("ada", "a1", "a2", "a3"), *of("ben", "b1", "b2")])

    assert await receive_bodies(engine, 4) == [b"a1", b"b1", b"a2", b"b2"]


async def test_messages_without_a_group_are_one_group(engine: Engine) -> None:
    await engine.commit([*of("", "1", "2", "3"), *of("ada", "a1")])

    assert await receive_in_turn(engine, 4) == ["1", "a1", "2", "3"]


async def test_a_group_that_was_away_gets_no_turns_for_it(engine: Engine) -> None:
    await engine.commit([*of("ada", "a1"), *of("ben", *(f"b{n}" for n in range(8)))])
    await receive_in_turn(engine, 5)

    await engine.commit(of("ada", "a2", "a3", "a4"))

    assert await receive_in_turn(engine, 6) == ["b4", "a2", "b5", "a3", "b6", "a4"]


async def test_a_released_message_keeps_its_place(engine: Engine) -> None:
    await engine.commit(of("ada", "a1", "a2", "a3"))
    first = await receive_one(engine)
    await receive_one(engine)

    await engine.commit([Release(first)])

    assert await receive_in_turn(engine, 2) == ["a1", "a3"]


async def test_a_retry_goes_behind_the_new_messages_of_its_group_and_of_others(
    engine: Engine,
) -> None:
    await engine.commit(of("ada", "a1", "a2", "a3"))
    failed = await receive_one(engine)
    await engine.commit([Retry(failed, timedelta(0), "unavailable")])
    await engine.commit(of("ben", "b1", "b2"))

    assert await receive_in_turn(engine, 5) == ["a2", "b1", "a3", "b2", "a1"]


async def test_a_lease_that_ran_out_goes_behind_new_messages_too(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit(of("ada", "a1", "a2"))
    await receive_one(engine)
    clock.advance(seconds=LEASE.total_seconds())

    assert await receive_in_turn(engine, 2) == ["a2", "a1"]


async def test_a_retry_waits_only_so_many_turns_however_much_is_new(engine: Engine) -> None:
    await engine.commit(of("ada", "retried"))
    failed = await receive_one(engine)
    await engine.commit([Retry(failed, timedelta(0), "unavailable")])

    received: list[str] = []
    while "retried" not in received:
        number = len(received)
        await engine.commit(of("ben", f"b{number}"))
        await engine.commit(of("cyd", f"c{number}"))
        received += await receive_in_turn(engine, 1)

    assert len(received) <= 2 * RETRY_PENALTY + 2


async def test_many_retries_of_one_group_take_turns_with_new_messages(engine: Engine) -> None:
    await engine.commit(of("ada", *(f"a{n}" for n in range(40))))
    for failed in await engine.queue.receive(40, lease=LEASE):
        await engine.commit([Retry(failed, timedelta(0), "unavailable")])
    await receive_in_turn(engine, 3)

    await engine.commit(of("ben", "b1"))

    assert "b1" in await receive_in_turn(engine, 2)


async def test_a_requeued_dead_letter_is_of_its_old_group(engine: Engine) -> None:
    await engine.commit(of("ada", "a1", resource="git.example"))
    dead = await receive_one(engine)
    await engine.commit([Bury(dead, "broken")])
    await engine.commit([Requeue(dead.message_id)])

    requeued = await receive_one(engine)

    assert (requeued.group, requeued.resource) == ("ada", "git.example")


async def test_a_message_for_a_busy_resource_is_skipped_and_keeps_its_position(
    engine: Engine,
) -> None:
    await engine.commit(of("ada", "a1", "a2", resource="slow.example"))
    await engine.commit(of("ben", "b1", resource="git.example"))
    await engine.commit(of("ben", "b2"))

    around = await engine.queue.receive(
        9, lease=LEASE, busy=BusyResources(resources=("slow.example",))
    )

    assert [delivery.body for delivery in around] == [b"b1", b"b2"]
    assert await receive_in_turn(engine, 2) == ["a1", "a2"]


async def test_of_a_busy_group_only_messages_without_a_resource_are_delivered(
    engine: Engine,
) -> None:
    await engine.commit(of("ada", "fetched", resource="git.example"))
    await engine.commit(of("ada", "uploaded"))

    around = await engine.queue.receive(9, lease=LEASE, busy=BusyResources(groups=("ada",)))

    assert [delivery.body for delivery in around] == [b"uploaded"]


async def test_another_group_is_found_behind_thousands_that_need_something_busy(
    engine: Engine,
) -> None:
    flood = [Send(b"", group="ada", resource="slow.example") for _ in range(3_000)]
    await engine.commit(flood)
    await engine.commit(of("ben", "b1", resource="git.example"))

    (found,) = await engine.queue.receive(
        9, lease=LEASE, busy=BusyResources(resources=("slow.example",))
    )

    assert found.body == b"b1"


async def test_an_extended_lease_ends_later(engine: Engine, clock: ManualClock) -> None:
    await engine.commit(of("ada", "a1"))
    held = await receive_one(engine, lease=timedelta(minutes=1))
    clock.advance(seconds=50)

    assert await engine.commit([Extend(held, timedelta(minutes=1))])
    clock.advance(seconds=50)

    assert await engine.queue.receive(1, lease=LEASE) == []
    clock.advance(seconds=10)
    assert (await receive_one(engine)).attempt == 2


async def test_a_lease_that_somebody_else_has_now_cannot_be_extended(
    engine: Engine, clock: ManualClock
) -> None:
    await engine.commit(of("ada", "a1"))
    lost = await receive_one(engine, lease=timedelta(minutes=1))
    clock.advance(minutes=1)
    await receive_one(engine)

    assert await engine.commit([Extend(lost, LEASE)]) is None


async def test_messages_of_a_group_are_counted_until_they_are_done(engine: Engine) -> None:
    await engine.commit([*of("ada", "a1", "a2", "a3"), *of("ben", "b1")])
    first, _, second = await engine.queue.receive(3, lease=LEASE)
    await engine.commit([Acknowledge(first), Bury(second, "broken")])

    counts = [await engine.queue.count_group(group) for group in ("ada", "ben", "cyd")]

    assert counts == [1, 1, 0]


async def test_a_second_send_with_the_same_key_takes_no_turn(engine: Engine) -> None:
    await engine.commit(of("ada", "a1"))
    for _ in range(3):
        await engine.commit(of("ada", "a1"))
    await engine.commit([*of("ada", "a2"), *of("ben", "b1", "b2")])

    assert await receive_in_turn(engine, 4) == ["a1", "b1", "a2", "b2"]


@pytest.mark.parametrize("bad", ["x" * 1025, "nul\0"])
async def test_a_group_that_cannot_be_stored_is_refused(engine: Engine, bad: str) -> None:
    with pytest.raises(InvalidInput, match="key"):
        await engine.commit([Send(b"", group=bad)])


async def test_places_are_counted_up_to_a_bound(engine: Engine) -> None:
    await engine.commit([Send(b"", key=f"m{n}") for n in range(MAX_POSITION + 50)])
    await engine.commit([Send(b"", key="delayed", delay=timedelta(hours=1))])
    keys = [f"m{MAX_POSITION - 1}", f"m{MAX_POSITION}", f"m{MAX_POSITION + 40}", "delayed"]

    places = [await engine.queue.position(key) for key in keys]

    assert places == [MAX_POSITION, MAX_POSITION + 1, MAX_POSITION + 1, MAX_POSITION + 1]


async def receive_all(sent: Sequence[str]) -> list[str]:
    """Send one message for each name, in the group of that name; return the order of delivery."""
    with tempfile.TemporaryDirectory() as folder:
        engine = await open_engine(f"sqlite:///{folder}/skills.db")
        await engine.commit([Send(group.encode(), group=group) for group in sent])
        received = [(await receive_one(engine)).group for _ in sent]
        await engine.close()
    return received


@pytest.mark.hypothesis
@given(sent=st.lists(st.sampled_from("abcd"), min_size=1, max_size=60))
def test_of_any_two_groups_that_wait_neither_gets_more_than_one_turn_ahead(
    sent: list[str],
) -> None:
    received = asyncio.run(receive_all(sent))

    left, turns = Counter(sent), Counter[str]()
    for group in received:
        turns[group] += 1
        left[group] -= 1
        assert all(turns[group] - turns[other] <= 1 for other in left if left[other])
