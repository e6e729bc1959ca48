"""Concurrent calls become one batch, and each caller gets its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.contracts.asking import GUARD_SECONDS
from vskill_platform.engines.batcher import Batcher


class Gate:
    """Doubles numbers, batch by batch, when it is opened."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.opened = asyncio.Event()
        if is_open:
            self.opened.set()

    async def __call__(self, batch: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(batch))
        await self.opened.wait()
        if 13 in batch:
            raise ConnectionError("thirteen")
        return [ValueError("negative") if n < 0 else 2 * n for n in batch]


@pytest.fixture
async def gate() -> Gate:
    return Gate()


async def test_requests_of_one_loop_turn_form_one_batch(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=100, at_once=1)

    answers = await asyncio.gather(*(batcher.submit(n) for n in range(5)))

    assert answers == [0, 2, 4, 6, 8]
    assert gate.batches == [[0, 1, 2, 3, 4]]


async def test_requests_during_a_batch_form_the_next_batch() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, max_batch=100, at_once=1)
    answers = [batcher.submit(1)]
    async with asyncio.timeout(GUARD_SECONDS):
        while not gate.batches:
            await asyncio.sleep(0)

    for n in (2, 3):
        answers.append(batcher.submit(n))
        await asyncio.sleep(0)
    gate.opened.set()

    assert await asyncio.gather(*answers) == [2, 4, 6]
    assert gate.batches == [[1], [2, 3]]


async def test_no_batch_is_larger_than_it_may_be(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=2, at_once=1)

    await asyncio.gather(*(batcher.submit(n) for n in range(5)))

    assert gate.batches == [[0, 1], [2, 3], [4]]


async def test_no_more_batches_run_at_once_than_may() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, max_batch=1, at_once=2)
    answers = [batcher.submit(n) for n in range(4)]
    async with asyncio.timeout(GUARD_SECONDS):
        while len(gate.batches) < 2:
            await asyncio.sleep(0)
    for _ in range(10):
        await asyncio.sleep(0)

    assert gate.batches == [[0], [1]]

    gate.opened.set()
    assert await asyncio.gather(*answers) == [0, 2, 4, 6]


async def test_an_error_of_one_is_raised_to_its_caller_alone(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=100, at_once=1)

    one, two, three = await asyncio.gather(
        *(batcher.submit(n) for n in (1, -2, 3)), return_exceptions=True
    )

    assert (one, three) == (2, 6)
    assert isinstance(two, ValueError)


async def test_a_batch_that_fails_fails_for_all_and_the_next_one_runs(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=100, at_once=1)

    failed = await asyncio.gather(*(batcher.submit(n) for n in (12, 13)), return_exceptions=True)

    assert [type(error) for error in failed] == [ConnectionError] * 2
    assert await batcher.submit(14) == 28


async def test_a_caller_that_gave_up_does_not_disturb_the_others(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=100, at_once=1)
    one, gone, three = (batcher.submit(n) for n in (1, 2, 3))

    gone.cancel()

    assert [await one, await three] == [2, 6]


async def test_draining_waits_for_what_runs_and_what_waits() -> None:
    gate = Gate(is_open=False)
    batcher = Batcher(gate, max_batch=1, at_once=1)
    answers = [batcher.submit(n) for n in range(3)]
    draining = asyncio.create_task(batcher.drain())
    await asyncio.sleep(0)
    assert not draining.done()

    gate.opened.set()
    async with asyncio.timeout(GUARD_SECONDS):
        await draining

    assert [answer.result() for answer in answers] == [0, 2, 4]


async def test_a_batch_has_a_limited_number_of_bytes(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=100, at_once=1, max_bytes=10)

    answers = await asyncio.gather(
        *(batcher.submit(n, size=size) for n, size in enumerate([4, 6, 1, 50, 0, 10]))
    )

    assert answers == [0, 2, 4, 6, 8, 10]
    assert gate.batches == [[0, 1], [2], [3], [4, 5]]


async def test_both_limits_of_a_batch_hold(gate: Gate) -> None:
    batcher = Batcher(gate, max_batch=2, at_once=1, max_bytes=10)

    await asyncio.gather(*(batcher.submit(n, size=size) for n, size in enumerate([1, 1, 9, 9, 1])))

    assert gate.batches == [[0, 1], [2], [3, 4]]
