"""A process notices its own writes at once, without polling."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from tests.clocks import NOON, ManualClock
from tests.contracts.asking import GUARD_SECONDS, start_waiting
from vskill_platform.engines.open_engine import open_engine
from vskill_platform.engines.operations import Put, Send
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.sqlite import engine as sqlite_engine


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(
    url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Engine]:
    """An engine that never looks for other processes."""
    monkeypatch.setattr(sqlite_engine, "LOOK_EVERY_SECONDS", 3600)
    engine = await open_engine(url, clock=clock)
    yield engine
    await engine.close()


async def test_a_send_wakes_workers_at_once(engine: Engine) -> None:
    waiting = await start_waiting(engine)

    await engine.commit([Send(b"job")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert len(await waiting) == 1


async def test_a_resumed_queue_wakes_workers_at_once(engine: Engine) -> None:
    await engine.commit([Send(b"job")])
    await engine.queue.pause(timedelta(hours=1))
    waiting = await start_waiting(engine)

    await engine.queue.resume()

    async with asyncio.timeout(GUARD_SECONDS):
        assert len(await waiting) == 1


async def test_a_change_arrives_at_once(engine: Engine) -> None:
    following = asyncio.ensure_future(anext(engine.changes(after=0)))
    await asyncio.sleep(0)
    await engine.revision()

    await engine.commit([Put("sub:1", b"")])

    async with asyncio.timeout(GUARD_SECONDS):
        assert (await following).keys == ("sub:1",)


async def test_a_prune_arrives_at_once(engine: Engine, clock: ManualClock) -> None:
    await engine.commit([Put("token:1", b"", expires_at=NOON + timedelta(hours=1))])
    following = asyncio.ensure_future(anext(engine.changes(after=await engine.revision())))
    await asyncio.sleep(0)
    await engine.revision()

    clock.advance(hours=1)
    await engine.prune(deleted_before=NOON)

    async with asyncio.timeout(GUARD_SECONDS):
        assert (await following).keys == ("token:1",)
