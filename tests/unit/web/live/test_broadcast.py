"""Live pages: one reader of the feed wakes exactly the pages that wait for a topic."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from tests.probes import ProbingEngine
from vskill_platform.engines.ports import Engine, RecordChange
from vskill_platform.errors import EngineError, FeedTrimmed
from vskill_platform.intake.submit import submit
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.source import folder_source
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.live import broadcast as module
from vskill_platform.web.live.broadcast import QUEUE, Broadcast, open_broadcast, submission_topic
from vskill_platform.web.live.events import MAX_PACE_SECONDS, MIN_PACE_SECONDS, pace


async def test_a_page_is_notified_of_its_submission(bound: WorkerEnv) -> None:
    submission = (await submit(folder_source("/skills/one"), submitter="ada")).submission

    async with (
        open_broadcast(bound) as broadcast,
        broadcast.listening([submission_topic(submission.id)]) as listener,
    ):
        await withdraw(submission.id, actor="ada", reason="wrong")
        await asyncio.wait_for(listener.wait(), 10)


async def test_a_page_receives_no_events_of_others() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([submission_topic("sub_1")]) as listener:
        broadcast.notify(["sub:sub_2", "skill:ada/notes/tidy"])
        waiting = asyncio.ensure_future(listener.wait())
        await asyncio.sleep(0)

        assert not waiting.done()
        broadcast.notify(["sub:sub_1"])
        await asyncio.wait_for(waiting, 10)


async def test_the_queue_page_is_notified_of_every_submission() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]) as listener:
        broadcast.notify(["sub:sub_2"])

        await asyncio.wait_for(listener.wait(), 10)


async def test_closed_listeners_are_removed() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]):
        assert broadcast.count == 1

    assert (broadcast.count, dict(broadcast._listeners)) == (0, {})


async def test_closing_ends_current_and_later_listeners() -> None:
    broadcast = Broadcast()
    async with broadcast.listening([QUEUE]) as early:
        broadcast.close()
        await asyncio.wait_for(early.wait(), 10)
        assert early.is_closed
        async with broadcast.listening([QUEUE]) as late:
            await asyncio.wait_for(late.wait(), 10)
            assert late.is_closed


def test_more_open_pages_get_fewer_events_each() -> None:
    assert pace(1) == MIN_PACE_SECONDS
    assert pace(200) == pytest.approx(4.0)
    assert pace(10_000) == MAX_PACE_SECONDS


class FailingFeed(ProbingEngine):
    """An engine whose feed fails in each of these ways before it works."""

    def __init__(self, engine: Engine, *failures: Exception) -> None:
        super().__init__(engine)
        self.failures = list(failures)

    def changes(self, *, after: int, prefixes: Sequence[str] = ()) -> AsyncIterator[RecordChange]:
        if self.failures:
            raise self.failures.pop(0)
        return super().changes(after=after, prefixes=prefixes)


async def test_after_an_outage_every_page_reloads_and_receives_events_again(
    bound: WorkerEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.0)
    engine = FailingFeed(bound.engine, EngineError("disk gone"), FeedTrimmed("too old"))

    async with (
        open_broadcast(replace(bound, engine=engine)) as broadcast,
        broadcast.listening([QUEUE]) as listener,
    ):
        await asyncio.wait_for(listener.wait(), 10)  # it may have missed something
        while engine.failures:
            await asyncio.sleep(0)
        await submit(folder_source("/skills/one"), submitter="ada")
        await asyncio.wait_for(listener.wait(), 10)
