"""Submissions for the original vskill client: in bulk, the rejected ones, and as a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromQuery, JSONBody, QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from vskill_platform.catalogue.query import SubmissionQuery, SubmissionRow, SubmissionSort
from vskill_platform.errors import InvalidInput, NotSignedIn, VskillError
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.db import bound_env, get_settings
from vskill_platform.web.http.api_types import (
    Limit,
    Offset,
    Shape,
    Text,
    clamp,
    offset_cursor,
    read_offset,
)
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.live.events import (
    SSE_HEADERS,
    STILL_HERE,
    broadcast_of,
    has_changed,
    may_still_listen,
    pace,
    queue_topics,
)
from vskill_platform.web.reviews.check_block import Rejection, rejection_item
from vskill_platform.web.submissions.shapes import SubmissionAnswer
from vskill_platform.web.submissions.submission_json import submit_answer
from vskill_platform.web.submissions.submit_skills import find_skills_in, submit_chosen

_MAX_ROWS = 100
_REJECTED = (SubmissionState.REJECTED, SubmissionState.TIER1_FAILED)
_FINISHED = frozenset({SubmissionState.PUBLISHED, SubmissionState.BLOCKED, *_REJECTED})
#: Reading a repository takes seconds; what is not read by then has to be sent again.
_BULK_SECONDS = 45.0
_NOT_READ = "not read in time; send it again"
Repo = Annotated[str, msgspec.Meta(max_length=500)]


class BulkRequest(Shape, frozen=True, kw_only=True):
    """Up to 100 repositories, under any of the names that clients use."""

    repos: Annotated[tuple[Repo, ...], msgspec.Meta(max_length=100)] = ()
    repo_urls: Annotated[tuple[Repo, ...], msgspec.Meta(max_length=100)] = ()
    source: Text = ""


class BulkItem(Shape, frozen=True, kw_only=True):
    repo_url: str
    #: submitted, skipped or error
    status: str
    submissions: tuple[SubmissionAnswer, ...] = ()
    error: str | None = None


class BulkSummary(Shape, frozen=True, kw_only=True):
    submitted: int
    skipped: int
    errors: int


class BulkAnswer(Shape, frozen=True, kw_only=True):
    summary: BulkSummary
    results: list[BulkItem]


class RejectionList(Shape, frozen=True, kw_only=True):
    rejections: list[Rejection]
    total: int
    next_cursor: str | None


async def submit_bulk(request: WebRequest, data: JSONBody[BulkRequest]) -> BulkAnswer:
    """Submit every skill of up to 100 repositories; one that fails does not stop the others."""
    repos = list(dict.fromkeys([*data.repos, *data.repo_urls]))
    if not repos:
        raise InvalidInput("give repos: a list of repositories, such as owner/repo")
    loop = asyncio.get_running_loop()
    until = loop.time() + _BULK_SECONDS
    results = [
        await _submit_repo(visitor_of(request), repo)
        if loop.time() < until
        else BulkItem(repo_url=repo, status="error", error=_NOT_READ)
        for repo in repos
    ]
    counted = [item.status for item in results]
    summary = BulkSummary(
        submitted=counted.count("submitted"),
        skipped=counted.count("skipped"),
        errors=counted.count("error"),
    )
    return BulkAnswer(summary=summary, results=results)


async def _submit_repo(visitor: Visitor, repo: str) -> BulkItem:
    try:
        source = read_remote_source(repo, settings=get_settings())
        async with find_skills_in(visitor, source) as discovery:
            paths = [skill.path for skill in discovery.skills]
        if not paths:
            return BulkItem(repo_url=repo, status="skipped", error="no SKILL.md found")
        done = await submit_chosen(visitor, source, paths, is_private=False)
    except VskillError as error:
        return BulkItem(repo_url=repo, status="error", error=str(error))
    taken = [submit_answer(member.result) for member in done.members if member.result]
    is_new = any(not (item.duplicate or item.already_verified or item.blocked) for item in taken)
    refused = next((member.error for member in done.members if member.error), None)
    status = "submitted" if is_new else "skipped"
    return BulkItem(repo_url=repo, status=status, submissions=tuple(taken), error=refused)


@operation(is_listed=True)
async def list_rejections(
    request: WebRequest,
    q: Annotated[str, QueryParameter(max_length=200)] = "",
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: FromQuery[str | None] = None,
) -> Response[RejectionList]:
    """List rejected submissions, newest first."""
    size, headers = clamp(limit, _MAX_ROWS)
    start = read_offset(cursor, offset)
    query = SubmissionQuery(
        text=q,
        states=_REJECTED,
        sort=SubmissionSort.UPDATED,
        offset=start,
        limit=size,
        visible=await visible_to(visitor_of(request)),
    )
    found = await catalogue_of(request).list_submissions(query)
    answer = RejectionList(
        rejections=[rejection_item(row) for row in found.rows],
        total=found.total,
        next_cursor=offset_cursor(start, len(found.rows), found.total),
    )
    return Response(answer, headers=headers)


async def stream_submissions(request: WebRequest, mine: FromQuery[bool] = False) -> ServerSentEvent:
    """Send an event for each submission that changes, as far as the visitor may see it."""
    visitor = visitor_of(request)
    if mine and visitor.user is None:
        raise NotSignedIn("sign in to follow your own submissions")
    events = _events(request, visitor.name if mine else "")
    return ServerSentEvent(events, headers=dict(SSE_HEADERS))


async def _events(request: WebRequest, submitter: str) -> AsyncIterator[ServerSentEventMessage]:
    broadcast, topics = broadcast_of(request), await queue_topics(visitor_of(request))
    async with broadcast.listening(topics) as listener:
        known = await _latest(request, submitter)
        yield ServerSentEventMessage(comment="listening", data=None, retry=5000)
        while not listener.is_closed:
            if not await has_changed(listener):
                yield STILL_HERE
                continue
            if not await may_still_listen(request, topics):
                return
            rows = await _latest(request, submitter)
            for row in _new(rows, known):
                yield _event(row)
            known = rows or known
            await asyncio.sleep(pace(broadcast.count))


async def _latest(request: WebRequest, submitter: str) -> list[SubmissionRow]:
    """Return the submissions that changed last; one page, since clients also reload."""
    catalogue = catalogue_of(request)
    await catalogue.wait_until(await bound_env().engine.revision())
    query = SubmissionQuery(
        submitter=submitter,
        sort=SubmissionSort.UPDATED,
        limit=_MAX_ROWS,
        visible=await visible_to(visitor_of(request)),
    )
    return (await catalogue.list_submissions(query)).rows


def _new(rows: list[SubmissionRow], known: list[SubmissionRow]) -> list[SubmissionRow]:
    """Return what has changed, oldest first."""
    marks = {(row.id, row.state, row.updated_at) for row in known}
    return [
        row
        for row in reversed(rows)
        if (row.id, row.state, row.updated_at) not in marks
        and (not known or row.updated_at >= known[0].updated_at)
    ]


def _event(row: SubmissionRow) -> ServerSentEventMessage:
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
    return ServerSentEventMessage(event=kind, data=msgspec.json.encode(data).decode())
