"""What open pages listen to: `changed` when it is worth looking again, `end` when it never is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from litestar.response import ServerSentEvent, ServerSentEventMessage

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.errors import NotReady
from vskill_platform.model.access import Right
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.access.shares import hold_until_answered
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.live.broadcast import QUEUE, Broadcast, Listener, submission_topic

#: A proxy that hears nothing for longer may hang up.
KEEPALIVE_SECONDS = 25.0
#: Each open page costs a page load when it looks again. The more of them there are, the more
#: seldom each is told, so that all together cost no more.
SECONDS_A_LISTENER = 0.02
MIN_PACE_SECONDS, MAX_PACE_SECONDS = 0.5, 10.0

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_CHANGED = ServerSentEventMessage(event="changed", data="")
_END = ServerSentEventMessage(event="end", data="")
_HELLO = ServerSentEventMessage(comment="listening", data=None, retry=5000)
_STILL_HERE = ServerSentEventMessage(comment="still here", data=None)


@get("/live/submissions/{submission_id:str}", opt={"right": Right.ANYONE}, include_in_schema=False)
async def live_submission(
    request: Request[Any, Any, Any], submission_id: FromPath[str]
) -> ServerSentEvent:
    """Say when this submission moves, and while it waits, when the queue does."""
    await find_visible_submission(visitor_of(request), submission_id)
    topics = (submission_topic(submission_id), QUEUE)
    return ServerSentEvent(
        _events(broadcast_of(request), topics, submission_id), headers=dict(_HEADERS)
    )


@get("/live/queue", opt={"right": Right.ANYONE}, include_in_schema=False)
async def live_queue(request: Request[Any, Any, Any]) -> ServerSentEvent:
    """Say when any submission moves."""
    return ServerSentEvent(_events(broadcast_of(request), (QUEUE,)), headers=dict(_HEADERS))


def broadcast_of(request: Request[Any, Any, Any]) -> Broadcast:
    """Return what pages listen to, with a place for this one: later it is too late to say no."""
    broadcast: Broadcast | None = request.app.state.broadcast
    if broadcast is None:
        raise NotReady("pages are not told of changes here; look again by yourself")
    hold_until_answered(request, broadcast.places)
    return broadcast


def pace(listeners: int) -> float:
    """Return how many seconds at least lie between two looks of one page."""
    return min(max(MIN_PACE_SECONDS, listeners * SECONDS_A_LISTENER), MAX_PACE_SECONDS)


async def _events(
    broadcast: Broadcast, topics: Sequence[str], submission_id: str = ""
) -> AsyncIterator[ServerSentEventMessage]:
    """Tell one page; it ends when the server stops, or when the submission has ended."""
    async with broadcast.listening(topics) as listener:
        yield _HELLO
        if submission_id and await _has_ended(submission_id):
            yield _END
            return
        while not listener.is_closed:
            if not await _heard(listener):
                yield _STILL_HERE
                continue
            if listener.is_closed:
                return
            if submission_id and await _has_ended(submission_id):
                yield _END
                return
            yield _CHANGED
            await asyncio.sleep(pace(broadcast.listeners_of(QUEUE)))


async def _heard(listener: Listener) -> bool:
    try:
        await asyncio.wait_for(listener.wait(), KEEPALIVE_SECONDS)
    except TimeoutError:
        return False
    return True


async def _has_ended(submission_id: str) -> bool:
    stored = await get_submission(submission_id)
    return stored is None or stored.record.state in TERMINAL_STATES
