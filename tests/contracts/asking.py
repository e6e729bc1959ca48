"""Short calls of an engine that many contract tests need."""

import asyncio
import inspect
from datetime import datetime, timedelta

from vskill_platform.engines.operations import ABSENT, Delivery, Put
from vskill_platform.engines.ports import Engine, RecordChange
from vskill_platform.engines.wakeup import Wakeup

LEASE = timedelta(minutes=1)
#: Far longer than anything here takes, so that a hang fails and a slow machine does not.
GUARD_SECONDS = 60
#: Longer than the guard: who waits this long was not woken.
LONG_WAIT = timedelta(minutes=3)
_END_OF_FEED = "~ the end of the feed"


async def value_of(engine: Engine, key: str) -> bytes | None:
    entry = await engine.kv.get(key)
    return entry.value if entry else None


async def revision_of(engine: Engine, key: str) -> int:
    entry = await engine.kv.get(key)
    return entry.revision if entry else ABSENT


async def list_all(
    engine: Engine,
    prefix: str = "",
    *,
    limit: int = 1000,
    due_before: datetime | None = None,
    newest_first: bool = False,
) -> list[str]:
    """Return the keys of all pages, one after the other."""
    keys: list[str] = []
    cursor = None
    while True:
        page = await engine.kv.list_keys(
            prefix, after=cursor, limit=limit, due_before=due_before, newest_first=newest_first
        )
        assert len(page.keys) <= limit
        assert page.keys or cursor is None, "a cursor led to nothing"
        keys += page.keys
        cursor = page.cursor
        if cursor is None:
            return keys


async def receive_one(engine: Engine, *, lease: timedelta = LEASE) -> Delivery:
    (delivery,) = await engine.queue.receive(1, lease=lease)
    return delivery


async def receive_bodies(engine: Engine, limit: int = 100) -> list[bytes]:
    return [delivery.body for delivery in await engine.queue.receive(limit, lease=LEASE)]


async def start_waiting(engine: Engine, *, limit: int = 1) -> asyncio.Task[list[Delivery]]:
    """Return a receive that has looked, found nothing, and waits."""
    waiting = asyncio.create_task(engine.queue.receive(limit, lease=LEASE, wait=LONG_WAIT))
    async with asyncio.timeout(GUARD_SECONDS):
        while not _is_asleep(waiting):
            assert not waiting.done()
            await asyncio.sleep(0.001)
    return waiting


def _is_asleep(receive: asyncio.Task[list[Delivery]]) -> bool:
    """Return whether a receive waits to be woken up, and not for the database."""
    inner: object = receive.get_coro()
    while inspect.iscoroutine(inner):
        if inner.cr_code is Wakeup.wait.__code__:
            return True
        inner = inner.cr_await
    return False


async def changes_until_now(engine: Engine, *, after: int = 0) -> list[RecordChange]:
    """Return what the feed tells, up to a mark that is committed now."""
    await engine.commit([Put(_END_OF_FEED, b"")])
    told: list[RecordChange] = []
    async with asyncio.timeout(GUARD_SECONDS):
        async for change in engine.changes(after=after):
            if _END_OF_FEED in change.keys:
                break
            told.append(change)
    return told
