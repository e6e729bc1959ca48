"""Queue background messages: at most one per skill, and a limited number at a time."""

from collections.abc import Sequence

from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.stores.background_store import (
    KNOWN_SINCE,
    BackgroundMessage,
    send_missing,
)
from vskill_platform.stores.db import commit, get_queue
from vskill_platform.stores.node_store import all_nodes_know

#: How many background messages may be queued. When a worker finds none, it makes the job due again.
MAX_QUEUED = 5_000
#: How many messages one commit sends.
_A_COMMIT = 500


async def waits_for_nodes() -> str | None:
    """Return why nothing may be sent yet; None if every live node knows background messages."""
    if await all_nodes_know(KNOWN_SINCE):
        return None
    return "waiting until all nodes run this release"


async def send_background(messages: Sequence[BackgroundMessage]) -> str:
    """Queue the messages that are not queued yet, up to the limit; return how many."""
    room = max(MAX_QUEUED - await get_queue().count_group(BACKGROUND), 0)
    missing = await send_missing(messages)
    sent = missing[:room]
    for start in range(0, len(sent), _A_COMMIT):
        await commit(sent[start : start + _A_COMMIT])
    waiting, left = len(messages) - len(missing), len(missing) - len(sent)
    return f"{len(sent)} queued, {waiting} queued before, {left} left"
