"""A place to scan in, or the word that there is none: waiting in line is nobody's fault."""

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
    env = bound_env()
    patience = env.settings.message_deadline.total_seconds() * SHARE_OF_DEADLINE
    who = object()
    try:
        with fail_after(patience):
            await env.scan_slots.acquire_on_behalf_of(who)
    except TimeoutError as error:
        raise NoRoom(f"all places to scan were taken for {patience:g} s") from error
    try:
        yield CapacityLimiter(1)
    finally:
        env.scan_slots.release_on_behalf_of(who)
