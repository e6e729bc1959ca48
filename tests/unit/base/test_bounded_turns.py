"""A bounded queue: some run, a few wait, the rest are refused."""

import asyncio

import pytest

from vskill_platform.base.bounded_turns import BoundedTurns
from vskill_platform.errors import Busy


async def test_a_full_queue_refuses_with_a_retry_delay() -> None:
    queue = BoundedTurns(at_once=1, waiting=1, busy="others do this")
    order: list[str] = []

    async def come(name: str) -> None:
        async with queue.turn():
            order.append(name)

    async with queue.turn():
        second = asyncio.create_task(come("second"))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="others do this") as refused:
            await come("third")
        assert order == []
    await second
    await come("fourth")

    assert order == ["second", "fourth"]
    assert refused.value.retry_after


async def test_a_cancelled_waiter_frees_its_position() -> None:
    queue = BoundedTurns(at_once=1, waiting=1, busy="others do this")
    async with queue.turn():
        waiting = asyncio.create_task(queue.turn().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])

        again = asyncio.create_task(queue.turn().__aenter__())
        await asyncio.sleep(0)
        assert not again.done()
        again.cancel()
        await asyncio.wait([again])
