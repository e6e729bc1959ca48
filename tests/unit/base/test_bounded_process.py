"""Work in a process of its own: its place, and the time that it has once it has one."""

import asyncio

import pytest
from anyio import CapacityLimiter, to_process

from vskill_platform.base.bounded_process import run_bounded

pytestmark = pytest.mark.usefixtures("one_loop")


def an_answer() -> int:
    return 42


async def test_work_with_a_place_of_its_own_does_not_wait_for_others() -> None:
    shared = to_process.current_default_process_limiter()
    others = [object() for _ in range(int(shared.total_tokens))]
    for other in others:
        shared.acquire_on_behalf_of_nowait(other)
    try:
        assert await run_bounded(an_answer, limiter=CapacityLimiter(1)) == 42
    finally:
        for other in others:
            shared.release_on_behalf_of(other)


async def test_who_waits_for_a_place_uses_up_no_time() -> None:
    limiter = CapacityLimiter(1)
    async with limiter:
        waiting = asyncio.create_task(run_bounded(an_answer, limiter=limiter, seconds=0.001))

        done, _ = await asyncio.wait([waiting], timeout=0.1)

        waiting.cancel()
        assert not done
