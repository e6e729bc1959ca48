"""What open pages listen to: `changed` when it is worth looking again, `end` when it never is."""

import asyncio
from collections.abc import AsyncIterator

from litestar.params import FromPath
from litestar.response import ServerSentEvent, ServerSentEventMessage

from vskill_platform.access.visibility import find_visible_submission, list_seen_namespaces
from vskill_platform.errors import NotFound, NotReady, NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.http.concurrency_quota import hold_until_answered
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import identify, visitor_of
from vskill_platform.web.live.broadcast import (
    PUBLIC_QUEUE,
    QUEUE,
    Broadcast,
    Listener,
    private_queue,
    submission_topic,
)

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


async def live_submission(request: WebRequest, submission_id: FromPath[str]) -> ServerSentEvent:
    """Say when this submission moves, and while it waits, when the queue does."""
    visitor = visitor_of(request)
    await find_visible_submission(visitor, submission_id)
    page = _Page(request, await _queue_topics(visitor), submission_id)
    return ServerSentEvent(_events(broadcast_of(request), page), headers=dict(_HEADERS))


async def live_queue(request: WebRequest) -> ServerSentEvent:
    """Say when any submission moves that this visitor sees."""
    page = _Page(request, await _queue_topics(visitor_of(request)))
    return ServerSentEvent(_events(broadcast_of(request), page), headers=dict(_HEADERS))


def broadcast_of(request: WebRequest) -> Broadcast:
    """Return what pages listen to, with a place for this one: later it is too late to say no."""
    broadcast: Broadcast | None = request.app.state.broadcast
    if broadcast is None:
        raise NotReady("this node sends no live updates; poll instead")
    hold_until_answered(request, broadcast.places)
    return broadcast


def pace(listeners: int) -> float:
    """Return how many seconds at least lie between two looks of one page."""
    return min(max(MIN_PACE_SECONDS, listeners * SECONDS_A_LISTENER), MAX_PACE_SECONDS)


class _Page:
    """One open page, and what its visitor may hear of for as long as that is so."""

    def __init__(self, request: WebRequest, queue: frozenset[str], submission_id: str = "") -> None:
        self.submission_id = submission_id
        self._request = request
        self._queue = queue

    @property
    def topics(self) -> frozenset[str]:
        own = {submission_topic(self.submission_id)} if self.submission_id else set()
        return self._queue | own

    async def is_still_theirs(self) -> bool:
        """Look again who listens: a session ends, a role changes, something is hidden."""
        try:
            visitor = (await identify(self._request)).visitor
            if self.submission_id:
                await find_visible_submission(visitor, self.submission_id)
        except (NotFound, NotSignedIn):
            return False
        return await _queue_topics(visitor) == self._queue


async def _queue_topics(visitor: Visitor) -> frozenset[str]:
    """Return of which moves in the queue a visitor is told."""
    if visitor.sees_all:
        return frozenset({QUEUE})
    return frozenset({PUBLIC_QUEUE, *map(private_queue, await list_seen_namespaces(visitor))})


async def _events(broadcast: Broadcast, page: _Page) -> AsyncIterator[ServerSentEventMessage]:
    """Tell one page; it ends with the server, with the submission, or with the visitor's right."""
    async with broadcast.listening(page.topics) as listener:
        yield _HELLO
        if await _has_ended(page.submission_id):
            yield _END
            return
        while not listener.is_closed:
            if not await _heard(listener):
                yield _STILL_HERE
                continue
            if listener.is_closed:
                return
            if not await page.is_still_theirs():
                return
            if await _has_ended(page.submission_id):
                yield _END
                return
            yield _CHANGED
            await asyncio.sleep(pace(broadcast.count))


async def _heard(listener: Listener) -> bool:
    try:
        await asyncio.wait_for(listener.wait(), KEEPALIVE_SECONDS)
    except TimeoutError:
        return False
    return True


async def _has_ended(submission_id: str) -> bool:
    if not submission_id:  # the queue never does
        return False
    stored = await get_submission(submission_id)
    return stored is None or stored.record.state in TERMINAL_STATES
