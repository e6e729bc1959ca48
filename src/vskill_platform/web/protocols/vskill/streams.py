"""Streams for the original vskill client: submissions that change, and skills that it watches.

Every event has an id: the revision of the database up to which the client knows everything. A
client that reconnects with `Last-Event-ID` gets the events that it missed.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from litestar.params import FromQuery, JSONBody, QueryParameter
from litestar.response import ServerSentEvent
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.db import get_now
from vskill_platform.stores.stream_subscription_store import get_subscription, put_subscription
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.rate_limits import limits_of, quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.live.broadcast import Broadcast
from vskill_platform.web.live.events import (
    SSE_HEADERS,
    STILL_HERE,
    broadcast_of,
    has_changed,
    may_still_listen,
    pace,
    queue_topics,
)
from vskill_platform.web.protocols.vskill.changes import (
    Changes,
    Message,
    Position,
    SkillStream,
    SubmissionStream,
    read_position,
    reload_all,
)
from vskill_platform.web.skills.slugs import SKILL_ID

_MAX_WATCHED = 500
_MAX_ID = 500
_SUBSCRIPTIONS_PER_HOUR = 30
#: The prefix of the id of a user whose submissions are watched.
_USER_ID = "usr_"
_HELLO = Message(comment="listening", data=None, retry=5000)
_Ids = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=_MAX_ID)], ...],
    msgspec.Meta(max_length=_MAX_WATCHED),
]


class SubscribeRequest(Shape, frozen=True, kw_only=True):
    """Up to 500 ids, in any of the fields that clients use."""

    skills: _Ids = ()
    skill_ids: _Ids = ()


class Subscription(Shape, frozen=True, kw_only=True):
    subscription_id: str
    #: The path of the stream.
    stream_url: str
    skills: list[str]
    count: int
    expires_at: datetime


async def stream_submissions(request: WebRequest, mine: FromQuery[bool] = False) -> ServerSentEvent:
    """Send an event for each change of a submission that the visitor may see."""
    visitor = visitor_of(request)
    if mine and visitor.user is None:
        raise NotSignedIn("sign in to follow your own submissions")
    return await _stream(request, [SubmissionStream(request, visitor.name if mine else "")])


async def stream_skills(
    request: WebRequest,
    skills: Annotated[str, QueryParameter(max_length=50_000)] = "",
    subscription: Annotated[str, QueryParameter(max_length=100)] = "",
) -> ServerSentEvent:
    """Send an event for each new version of up to 500 skills, and for each skill that is gone.

    Skills are named by slug or by the id of a lookup, separated by commas, or by a subscription.
    `usr_NAME` stands for the decisions about your own submissions.
    """
    # Some slugs contain a comma and need a subscription.
    ids = [name for name in skills.split(",") if name]
    if subscription:
        stored = await get_subscription(subscription)
        if stored is None:
            raise NotFound("this subscription has expired; subscribe again")
        ids += stored.ids
    return await _stream(request, _sources(request, list(dict.fromkeys(ids))))


@operation(status=HTTP_201_CREATED)
async def subscribe(request: WebRequest, data: JSONBody[SubscribeRequest]) -> Subscription:
    """Store a list of skills to watch for a day, because a URL cannot name many."""
    ids = list(dict.fromkeys([*data.skills, *data.skill_ids]))
    _sources(request, ids)  # refuses ids that no stream would accept
    limits_of(request).take_hourly(
        "subscribe",
        quota_key(visitor_of(request)),
        per_hour=_SUBSCRIPTIONS_PER_HOUR,
        now=get_now(),
    )
    is_anonymous = visitor_of(request).user is None
    subscription_id, stored = await put_subscription(ids, is_anonymous=is_anonymous)
    return Subscription(
        subscription_id=subscription_id,
        stream_url=f"/api/v1/skills/stream?subscription={subscription_id}",
        skills=list(stored.ids),
        count=len(stored.ids),
        expires_at=stored.expires_at,
    )


def _sources(request: WebRequest, ids: list[str]) -> list[Changes]:
    if not 1 <= len(ids) <= _MAX_WATCHED:
        raise InvalidInput(f"give 1 to {_MAX_WATCHED} skills, separated by commas")
    users = [name.removeprefix(_USER_ID) for name in ids if name.startswith(_USER_ID)]
    slugs = [name.removeprefix(SKILL_ID) for name in ids if not name.startswith(_USER_ID)]
    found: list[Changes] = []
    if slugs:
        found.append(SkillStream(request, dict.fromkeys(slugs)))
    for name in users:
        _check_is_own(visitor_of(request), name)
        found.append(SubmissionStream(request, name, decisions_only=True))
    return found


def _check_is_own(visitor: Visitor, name: str) -> None:
    if visitor.user is None:
        raise NotSignedIn("sign in to follow your own submissions")
    if visitor.user.name != name:
        raise NotAllowed(f"only {name} can follow the submissions of {name}")


async def _stream(request: WebRequest, sources: Sequence[Changes]) -> ServerSentEvent:
    """Respond with a stream; requests can be refused only before it starts."""
    broadcast, topics = broadcast_of(request), await queue_topics(visitor_of(request))
    events = _events(request, broadcast, topics, sources)
    return ServerSentEvent(events, headers=dict(SSE_HEADERS))


async def _events(
    request: WebRequest,
    broadcast: Broadcast,
    topics: frozenset[str],
    sources: Sequence[Changes],
) -> AsyncIterator[Message]:
    async with broadcast.listening(topics) as listener:
        now = await read_position()
        missed = await _missed(request, sources, now)
        yield _HELLO
        for message in missed:
            yield message
        while not listener.is_closed:
            if not await has_changed(listener):
                yield STILL_HERE
                continue
            if not await may_still_listen(request, topics):
                return
            now = await read_position()  # first: an event may be sent twice, never lost
            for source in sources:
                for event in await source.read():
                    yield event.message(now)
            await asyncio.sleep(pace(broadcast.count))


async def _missed(request: WebRequest, sources: Sequence[Changes], now: Position) -> list[Message]:
    """Start all sources; return the events that the client missed since the last one it got."""
    for source in sources:
        await source.begin()
    text = request.headers.get("last-event-id", "")
    if not text:
        return []
    last = Position.parse(text)
    if last is None or last.history != now.history or last.revision > now.revision:
        return [reload_all("the id of the last event is not known here").message(now)]
    found = []
    for source in sources:
        events = await source.since(last.revision)
        found += [reload_all("too much has changed")] if events is None else events
    return [event.message(now) for event in found]
