"""Work in a process of its own: its place, and the time that it has once it has one."""

import asyncio

import pytest
from anyio import CapacityLimiter, to_process

from vskill_platform.base import bounded_process
from vskill_platform.base.bounded_process import BROKE_DOWN, run_bounded
from vskill_platform.errors import Busy

pytestmark = pytest.mark.usefixtures("one_loop")


def an_answer() -> int:
    return 42


def an_endless_loop() -> None:
    while True:
        pass


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
        waiting = asyncio.create_task(run_bounded(an_answer, limiter=limiter, cpu_seconds=0.001))

        done, _ = await asyncio.wait([waiting], timeout=0.1)

        waiting.cancel()
        assert not done


async def test_work_that_uses_up_its_processor_time_is_ended() -> None:
    with pytest.raises(BROKE_DOWN):
        await run_bounded(an_endless_loop, cpu_seconds=0.1)


async def test_a_machine_that_does_not_get_to_it_is_busy_and_the_work_not_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_process, "MAX_WAIT_SECONDS", 0)

    with pytest.raises(Busy, match="too busy"):
        await run_bounded(an_answer)
