"""Server-sent events for open pages: `changed` to reload, `end` when nothing more will change."""

import asyncio
from collections.abc import AsyncIterator

from litestar.params import FromPath
from litestar.response import ServerSentEvent, ServerSentEventMessage

from vskill_platform.access.visibility import find_visible_submission, list_visible_namespaces
from vskill_platform.errors import NotFound, NotReady, NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.stores.submission_store import get_submission
from vskill_platform.web.http.concurrency_quota import hold_until_response
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import wait_for_index
from vskill_platform.web.http.visitor import identify, visitor_of
from vskill_platform.web.live.broadcast import (
    PUBLIC_QUEUE,
    QUEUE,
    Broadcast,
    Listener,
    private_queue,
    submission_topic,
)

#: Proxies may close connections that are silent for longer.
KEEPALIVE_SECONDS = 25.0
#: Each open page reloads at an event. The more pages are open, the fewer events each page gets, so
#: that the total cost is bounded.
SECONDS_A_LISTENER = 0.02
MIN_PACE_SECONDS, MAX_PACE_SECONDS = 0.5, 10.0

SSE_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_CHANGED = ServerSentEventMessage(event="changed", data="")
_END = ServerSentEventMessage(event="end", data="")
_HELLO = ServerSentEventMessage(comment="listening", data=None, retry=5000)
STILL_HERE = ServerSentEventMessage(comment="still here", data=None)


async def live_submission(request: WebRequest, submission_id: FromPath[str]) -> ServerSentEvent:
    """Send events when this submission changes, and when the queue does."""
    visitor = visitor_of(request)
    await find_visible_submission(visitor, submission_id)
    page = _Page(request, await queue_topics(visitor), submission_id)
    return ServerSentEvent(_events(broadcast_of(request), page), headers=dict(SSE_HEADERS))


async def live_queue(request: WebRequest) -> ServerSentEvent:
    """Send events when a submission that this visitor may see changes."""
    page = _Page(request, await queue_topics(visitor_of(request)))
    return ServerSentEvent(_events(broadcast_of(request), page), headers=dict(SSE_HEADERS))


def broadcast_of(request: WebRequest) -> Broadcast:
    """Return the broadcast and take a slot now, because a started stream cannot be refused."""
    broadcast: Broadcast | None = request.app.state.broadcast
    if broadcast is None:
        raise NotReady("this node sends no live updates; poll instead")
    hold_until_response(request, broadcast.slots)
    return broadcast


def pace(listeners: int) -> float:
    """Return the minimum number of seconds between two events for one page."""
    return min(max(MIN_PACE_SECONDS, listeners * SECONDS_A_LISTENER), MAX_PACE_SECONDS)


class _Page:
    """One open page and the topics that its visitor may listen to."""

    def __init__(self, request: WebRequest, queue: frozenset[str], submission_id: str = "") -> None:
        self.submission_id = submission_id
        self._request = request
        self._queue = queue

    @property
    def topics(self) -> frozenset[str]:
        own = {submission_topic(self.submission_id)} if self.submission_id else set()
        return self._queue | own

    async def wait_for_index(self) -> bool:
        return await wait_for_index(self._request)

    async def may_still_listen(self) -> bool:
        """Check again: the session may have ended, or the role or visibility changed."""
        try:
            if self.submission_id:
                visitor = (await identify(self._request)).visitor
                await find_visible_submission(visitor, self.submission_id)
        except (NotFound, NotSignedIn):
            return False
        return await may_still_listen(self._request, self._queue)


async def may_still_listen(request: WebRequest, topics: frozenset[str]) -> bool:
    """Check again: the session may have ended, or the role changed."""
    try:
        visitor = (await identify(request)).visitor
    except NotSignedIn:
        return False
    return await queue_topics(visitor) == topics


async def queue_topics(visitor: Visitor) -> frozenset[str]:
    """Return the queue topics that a visitor may listen to."""
    if visitor.can_see_all:
        return frozenset({QUEUE})
    return frozenset({PUBLIC_QUEUE, *map(private_queue, await list_visible_namespaces(visitor))})


async def _events(broadcast: Broadcast, page: _Page) -> AsyncIterator[ServerSentEventMessage]:
    """Yield the events of one page until shutdown, the end of the submission, or loss of access."""
    async with broadcast.listening(page.topics) as listener:
        yield _HELLO
        if await _has_ended(page.submission_id):
            yield _END
            return
        while not listener.is_closed:
            if not await has_changed(listener):
                yield STILL_HERE
                continue
            if listener.is_closed:
                return
            if not await page.may_still_listen():
                return
            if await _has_ended(page.submission_id):
                yield _END
                return
            if not await page.wait_for_index():
                listener.wake()  # tell the page once more when its lists are current
            yield _CHANGED
            await asyncio.sleep(pace(broadcast.count))


async def has_changed(listener: Listener) -> bool:
    """Wait for a change; return False after a time without one, to keep the connection alive."""
    try:
        await asyncio.wait_for(listener.wait(), KEEPALIVE_SECONDS)
    except TimeoutError:
        return False
    return True


async def _has_ended(submission_id: str) -> bool:
    if not submission_id:  # the queue never ends
        return False
    stored = await get_submission(submission_id)
    return stored is None or stored.record.state in TERMINAL_STATES
