"""Pause and resume the queue, with an audit record."""

from datetime import datetime, timedelta

from vskill_platform.errors import InvalidInput
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_queue

#: The longest pause: a forgotten one must not stall the registry forever.
MAX_PAUSE = timedelta(hours=24)


async def pause_queue(duration: timedelta, *, actor: str, reason: str = "") -> datetime | None:
    """Stop deliveries for a while; return when they continue."""
    if not timedelta(0) < duration <= MAX_PAUSE:
        raise InvalidInput("a pause must be longer than 0 seconds and at most 24 hours")
    await get_queue().pause(duration)
    until = (await get_queue().stats()).paused_until
    outcome = f"until {until:%Y-%m-%d %H:%M} UTC" if until else ""
    await commit([write_audit("pause", "queue", actor=actor, reason=reason, outcome=outcome)])
    return until


async def resume_queue(*, actor: str) -> bool:
    """End a pause; return whether there was one. Without a pause, nothing is recorded."""
    was_paused = (await get_queue().stats()).paused_until is not None
    await get_queue().resume()
    if was_paused:
        await commit([write_audit("resume", "queue", actor=actor, reason="")])
    return was_paused
