"""Open pages: one reader of the feed wakes those who wait, and nobody else."""

import asyncio

import pytest

from vskill_platform.errors import TooMany
from vskill_platform.intake.submit import submit
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import folder_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.live import broadcast as module
from vskill_platform.web.live.broadcast import QUEUE, Broadcast, open_broadcast, submission_topic
from vskill_platform.web.live.events import MAX_PACE_SECONDS, MIN_PACE_SECONDS, pace


async def test_a_page_hears_of_its_submission(bound: WorkerEnv) -> None:
    submission = (await submit(folder_source("/skills/one"), submitter="ada")).submission

    async with (
        open_broadcast(bound) as broadcast,
        broadcast.listening([submission_topic(submission.id)]) as listener,
    ):
        await withdraw(submission.id, actor="ada", reason="wrong")
        await asyncio.wait_for(listener.wait(), 10)


async def test_a_page_hears_nothing_of_others() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([submission_topic("sub_1")]) as listener:
        broadcast.tell(["sub:sub_2", "skill:ada/notes/tidy"])
        waiting = asyncio.ensure_future(listener.wait())
        await asyncio.sleep(0)

        assert not waiting.done()
        broadcast.tell(["sub:sub_1"])
        await asyncio.wait_for(waiting, 10)


async def test_the_queue_page_hears_of_every_submission() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]) as listener:
        broadcast.tell(["sub:sub_2"])

        await asyncio.wait_for(listener.wait(), 10)


async def test_who_left_is_forgotten() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]):
        assert (broadcast.count, broadcast.listeners_of(QUEUE)) == (1, 1)

    assert (broadcast.count, broadcast.listeners_of(QUEUE)) == (0, 0)


async def test_pages_beyond_the_limit_are_told_to_look_by_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_LISTENERS", 1)
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]):
        with pytest.raises(TooMany):
            await broadcast.listening([QUEUE]).__aenter__()


async def test_closing_ends_those_who_wait_and_those_who_come_later() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]) as early:
        broadcast.close()
        await asyncio.wait_for(early.wait(), 10)
        assert early.is_closed
        async with broadcast.listening([QUEUE]) as late:
            await asyncio.wait_for(late.wait(), 10)
            assert late.is_closed


def test_the_more_listen_the_more_seldom_each_is_told() -> None:
    assert pace(1) == MIN_PACE_SECONDS
    assert pace(200) == pytest.approx(4.0)
    assert pace(10_000) == MAX_PACE_SECONDS
