"""Many awaits at once; one that fails does not affect the others."""

import asyncio

import pytest

from vskill_platform.base.settle import settle


async def test_results_come_back_in_order() -> None:
    turns = [asyncio.Event() for _ in range(3)]
    turns[2].set()

    async def work(number: int) -> int:
        await turns[number].wait()
        if number:
            turns[number - 1].set()
        return number * 10

    assert await settle(work, [0, 1, 2]) == [0, 10, 20]


async def test_an_error_is_returned_in_its_place() -> None:
    async def work(number: int) -> int:
        if number == 1:
            raise ValueError("one")
        return number

    outcomes = await settle(work, [0, 1, 2])

    assert outcomes[0] == 0
    assert isinstance(outcomes[1], ValueError)
    assert outcomes[2] == 2


async def test_nothing_to_do_is_done_at_once() -> None:
    async def work(item: object) -> object:
        return item

    assert await settle(work, []) == []


async def test_no_more_run_at_once_than_allowed_and_all_run() -> None:
    running = most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number

    outcomes = await settle(work, range(100), at_once=7)

    assert outcomes == list(range(100))
    assert most == 7


async def test_items_are_taken_only_when_there_is_room_for_them() -> None:
    taken: list[int] = []
    gate = asyncio.Event()

    def items() -> list[int]:
        return [0, 1, 2, 3]

    async def work(number: int) -> None:
        taken.append(number)
        await gate.wait()

    run = asyncio.create_task(settle(work, items(), at_once=2))
    while len(taken) < 2:
        await asyncio.sleep(0)
    at_the_gate = list(taken)
    gate.set()
    await run

    assert at_the_gate == [0, 1]
    assert taken == [0, 1, 2, 3]


async def test_cancelling_ends_every_run() -> None:
    started = asyncio.Event()
    ended: list[int] = []

    async def work(number: int) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    run = asyncio.create_task(settle(work, range(3)))
    await started.wait()
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await run
    assert sorted(ended) == [0, 1, 2]


async def test_a_cancellation_inside_travels_on_and_leaves_nobody_behind() -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        if number == 0:
            raise asyncio.CancelledError
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    with pytest.raises(asyncio.CancelledError):
        await settle(work, range(3))
    assert sorted(ended) == [1, 2]


async def test_a_slow_item_takes_one_slot_and_the_others_go_on() -> None:
    ended: list[int] = []
    all_others_ended = asyncio.Event()

    async def work(number: int) -> int:
        if number == 0:
            await all_others_ended.wait()
        ended.append(number)
        if len(ended) == 9:
            all_others_ended.set()
        return number

    outcomes = await settle(work, range(10), at_once=2)

    assert outcomes == list(range(10))
    assert ended[-1] == 0
