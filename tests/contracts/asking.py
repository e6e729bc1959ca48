"""What the contracts ask an engine again and again, in one line each."""

import asyncio
from datetime import datetime, timedelta

from vskill_platform.engines.ports import ABSENT, Change, Delete, Delivery, Engine, Put

LEASE = timedelta(minutes=1)
#: Far longer than anything here takes, so that a hang fails and a slow machine does not.
GUARD_SECONDS = 20
#: Longer than the guard: who waits this long was not woken.
LONG_WAIT = timedelta(minutes=1)
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
    await asyncio.sleep(0)
    # Behind the first look in every queue, and refused, so that it wakes nobody.
    assert await engine.commit([Delete("~ nothing", expected=1)]) is None
    assert not waiting.done()
    return waiting


async def changes_until_now(engine: Engine, *, after: int = 0) -> list[Change]:
    """Return what the feed tells, up to a mark that is committed now."""
    await engine.commit([Put(_END_OF_FEED, b"")])
    told: list[Change] = []
    async with asyncio.timeout(GUARD_SECONDS):
        async for change in engine.changes(after=after):
            if _END_OF_FEED in change.keys:
                break
            told.append(change)
    return told
