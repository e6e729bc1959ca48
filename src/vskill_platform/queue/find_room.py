"""A place to scan in, or the word that there is none: waiting in line is nobody's fault."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import CapacityLimiter, fail_after

from vskill_platform.errors import NoRoom
from vskill_platform.stores.db import bound_env

#: How much of a message's time it may wait in line; the rest is for the check itself.
SHARE_OF_DEADLINE = 0.4


@asynccontextmanager
async def a_place_to_scan() -> AsyncIterator[CapacityLimiter]:
    """Wait for a place and keep it; it is given as a limiter for the one who has it."""
    async with _slots(1):
        yield CapacityLimiter(1)


@asynccontextmanager
async def all_other_slots(*, wanted: bool) -> AsyncIterator[None]:
    """Hold all scan slots but one if *wanted*: whoever takes the last one is checked alone."""
    env = bound_env()
    others = int(env.scan_slots.total_tokens) - 1
    if not wanted or not others:
        yield
        return
    async with env.one_alone, _slots(others):  # two that hold some slots each would never end
        yield


@asynccontextmanager
async def _slots(count: int) -> AsyncIterator[None]:
    env = bound_env()
    patience = env.settings.message_deadline.total_seconds() * SHARE_OF_DEADLINE
    held: list[object] = []
    try:
        with fail_after(patience):
            for _ in range(count):
                who = object()
                await env.scan_slots.acquire_on_behalf_of(who)
                held.append(who)
    except TimeoutError as error:
        _release(held)
        raise NoRoom(f"all scan slots were taken for {patience:g} s") from error
    except asyncio.CancelledError:
        _release(held)
        raise
    try:
        yield
    finally:
        _release(held)


def _release(held: list[object]) -> None:
    for who in held:
        bound_env().scan_slots.release_on_behalf_of(who)
