"""Wait for scan slots: meanwhile, pause the deadline of the message and extend its lease."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import partial

from anyio import WouldBlock, move_on_after

from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.engines.operations import Delivery, Extend
from vskill_platform.errors import Overtaken
from vskill_platform.stores.db import bound_env, commit

#: The deadline of the message that is being handled, paused while it waits for a slot.
message_limit: ContextVar[asyncio.Timeout | None] = ContextVar("message_limit", default=None)
#: The fraction of a lease that may pass before it is extended.
PART_OF_LEASE = 1 / 3
#: After a shorter wait, nearly the full lease is left.
_SHORT_WAIT_SECONDS = 1.0


@asynccontextmanager
async def scan_slot(delivery: Delivery, stopwatch: Stopwatch) -> AsyncIterator[None]:
    """Hold a slot; wait for it as long as it takes.

    Meanwhile the fetched files are kept: if the message were returned, they would have to be
    fetched again.
    """
    async with _slots(1, _Lease(delivery)):
        stopwatch.skip()
        yield


@asynccontextmanager
async def all_other_slots(delivery: Delivery, *, wanted: bool) -> AsyncIterator[None]:
    """If *wanted*, hold all scan slots but one, so that only one check runs."""
    env, lease = bound_env(), _Lease(delivery)
    others = int(env.scan_slots.total_tokens) - 1
    if not wanted or not others:
        yield
        return
    await lease.wait(env.one_alone.acquire)  # two holders of some slots would deadlock
    try:
        async with _slots(others, lease):
            yield
    finally:
        env.one_alone.release()


@asynccontextmanager
async def _slots(count: int, lease: "_Lease") -> AsyncIterator[None]:
    slots, held = bound_env().scan_slots, list[object]()
    try:
        for _ in range(count):
            holder = object()
            try:
                slots.acquire_on_behalf_of_nowait(holder)
            except WouldBlock:
                await lease.wait(partial(slots.acquire_on_behalf_of, holder))
            held.append(holder)
        await lease.renew()
        yield
    finally:
        for holder in held:
            slots.release_on_behalf_of(holder)


class _Lease:
    """The lease of a message, extended while the message waits."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._time = asyncio.get_running_loop().time
        self._extended_at = self._time()

    async def wait(self, acquire: Callable[[], Awaitable[object]]) -> None:
        """Acquire something, however long it takes, with the message's deadline paused."""
        part = bound_env().settings.lease.total_seconds() * PART_OF_LEASE
        with _clock_stopped():
            while True:
                with move_on_after(self._extended_at + part - self._time()) as waiting:
                    await acquire()
                if not waiting.cancelled_caught:
                    return
                await self._extend()

    async def renew(self) -> None:
        """Start with a full lease after a wait."""
        if self._time() - self._extended_at > _SHORT_WAIT_SECONDS:
            await self._extend()

    async def _extend(self) -> None:
        lease = bound_env().settings.lease
        if await commit([Extend(self._delivery, lease)]) is None:
            raise Overtaken(f"{self._delivery.key} was given to another worker in the meantime")
        self._extended_at = self._time()


@contextmanager
def _clock_stopped() -> Iterator[None]:
    limit, time = message_limit.get(), asyncio.get_running_loop().time
    ends_at = limit.when() if limit else None
    if limit is None or ends_at is None:
        yield
        return
    left = ends_at - time()
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(time() + left)
