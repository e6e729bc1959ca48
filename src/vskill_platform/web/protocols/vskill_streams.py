"""Streams for the original vskill client: submissions that change, and skills that it watches."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Any

import msgspec
from litestar.params import FromQuery, QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.catalogue.query import SubmissionQuery, SubmissionRow, SubmissionSort
from vskill_platform.errors import InvalidInput, NotFound, NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.db import bound_env
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
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
from vskill_platform.web.protocols.vskill import SKILL_ID
from vskill_platform.web.skills.versions import versions_of

_MAX_ROWS = 100
_MAX_WATCHED = 500
_S = SubmissionState
_FINISHED = frozenset({_S.PUBLISHED, _S.BLOCKED, _S.REJECTED, _S.TIER1_FAILED})
_HELLO = ServerSentEventMessage(comment="listening", data=None, retry=5000)
Message = ServerSentEventMessage
#: A watched skill as the client knows it; None if it is not available.
Known = dict[str, PublishedSkill | None]


async def stream_submissions(request: WebRequest, mine: FromQuery[bool] = False) -> ServerSentEvent:
    """Send an event for each submission that changes, as far as the visitor may see it."""
    visitor = visitor_of(request)
    if mine and visitor.user is None:
        raise NotSignedIn("sign in to follow your own submissions")
    source = _SubmissionChanges(request, visitor.name if mine else "")
    return await _stream(request, source)


async def stream_skills(
    request: WebRequest, skills: Annotated[str, QueryParameter(max_length=50_000)] = ""
) -> ServerSentEvent:
    """Send an event for each new version of up to 500 skills, and if one is gone.

    Skills are named by slug or by the id of a lookup, separated by commas.
    """
    # A comma is also part of some slugs: those cannot be watched together with others.
    slugs = list(dict.fromkeys(name.removeprefix(SKILL_ID) for name in skills.split(",") if name))
    if not 1 <= len(slugs) <= _MAX_WATCHED:
        raise InvalidInput(f"give 1 to {_MAX_WATCHED} skills, separated by commas")
    return await _stream(request, _SkillChanges(request, slugs))


class _SubmissionChanges:
    def __init__(self, request: WebRequest, submitter: str) -> None:
        self._request, self._submitter = request, submitter
        self._known: list[SubmissionRow] = []

    async def begin(self) -> None:
        self._known = await self._latest()

    async def read(self) -> list[Message]:
        rows = await self._latest()
        found = [_submission_event(row) for row in _new(rows, self._known)]
        self._known = rows or self._known
        return found

    async def _latest(self) -> list[SubmissionRow]:
        """Return the submissions that changed last; one page, since clients also reload."""
        catalogue = catalogue_of(self._request)
        await catalogue.wait_until(await bound_env().engine.revision())
        query = SubmissionQuery(
            submitter=self._submitter,
            sort=SubmissionSort.UPDATED,
            limit=_MAX_ROWS,
            visible=await visible_to(visitor_of(self._request)),
        )
        return (await catalogue.list_submissions(query)).rows


class _SkillChanges:
    def __init__(self, request: WebRequest, slugs: Iterable[str]) -> None:
        self._request = request
        self._known: Known = dict.fromkeys(slugs)

    async def begin(self) -> None:
        self._known = await self._latest()

    async def read(self) -> list[Message]:
        now = await self._latest()
        changed = [slug for slug, skill in now.items() if _differs(self._known[slug], skill)]
        self._known = now
        return [await _skill_event(slug, now[slug]) for slug in changed]

    async def _latest(self) -> Known:
        visitor = visitor_of(self._request)
        return {slug: await _find(visitor, slug) for slug in self._known}


async def _stream(
    request: WebRequest, changes: _SubmissionChanges | _SkillChanges
) -> ServerSentEvent:
    """Answer with a stream; what can be refused is refused before it starts."""
    broadcast, topics = broadcast_of(request), await queue_topics(visitor_of(request))
    events = _events(request, broadcast, topics, changes)
    return ServerSentEvent(events, headers=dict(SSE_HEADERS))


async def _events(
    request: WebRequest,
    broadcast: Broadcast,
    topics: frozenset[str],
    changes: _SubmissionChanges | _SkillChanges,
) -> AsyncIterator[Message]:
    async with broadcast.listening(topics) as listener:
        await changes.begin()
        yield _HELLO
        while not listener.is_closed:
            if not await has_changed(listener):
                yield STILL_HERE
                continue
            if not await may_still_listen(request, topics):
                return
            for event in await changes.read():
                yield event
            await asyncio.sleep(pace(broadcast.count))


def _new(rows: list[SubmissionRow], known: list[SubmissionRow]) -> list[SubmissionRow]:
    """Return what has changed, oldest first."""
    marks = {(row.id, row.state, row.updated_at) for row in known}
    return [
        row
        for row in reversed(rows)
        if (row.id, row.state, row.updated_at) not in marks
        and (not known or row.updated_at >= known[0].updated_at)
    ]


def _submission_event(row: SubmissionRow) -> Message:
    is_new = row.state is SubmissionState.RECEIVED and row.created_at == row.updated_at
    kind = "submission_created" if is_new else "state_changed"
    kind = "scan_complete" if row.state in _FINISHED else kind
    data = {
        "submissionId": row.id,
        "skillName": row.skill_name,
        "state": row.state,
        "score": row.score,
        "message": row.reason,
        "timestamp": row.updated_at,
    }
    return _message(kind, data)


async def _find(visitor: Visitor, slug: str) -> PublishedSkill | None:
    try:
        skill = (await find_visible_skill(visitor, slug)).record
    except NotFound:
        return None
    return None if skill.down else skill


def _differs(before: PublishedSkill | None, now: PublishedSkill | None) -> bool:
    if before is None or now is None:
        return before is not now
    return (before.version, before.digest) != (now.version, now.digest)


async def _skill_event(slug: str, skill: PublishedSkill | None) -> Message:
    skill_id = f"{SKILL_ID}{slug}"
    if skill is None:
        return _message("gone", {"skillId": skill_id, "reason": "it is no longer available"})
    (latest,) = (await versions_of(skill.slug, limit=1)).versions
    data = {
        "eventId": f"{skill.slug}@{latest.version}",
        "skillId": skill_id,
        "skillSlug": skill.slug,
        "version": latest.version,
        "gitSha": latest.git_sha,
        "diffSummary": latest.diff_summary,
        "publishedAt": latest.created_at,
    }
    return _message("skill.updated", data)


def _message(kind: str, data: dict[str, Any]) -> Message:
    return Message(event=kind, data=msgspec.json.encode(data).decode())
