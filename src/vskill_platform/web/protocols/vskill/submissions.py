"""Submissions for the original vskill client: submit in bulk, and list rejected ones."""

import asyncio
from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromQuery, JSONBody, QueryParameter

from vskill_platform.catalogue.query import SubmissionQuery, SubmissionSort
from vskill_platform.errors import InvalidInput, VskillError
from vskill_platform.intake.read_source import read_remote_source
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import SubmissionState
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.api_types import (
    Limit,
    Offset,
    Shape,
    Text,
    clamp,
)
from vskill_platform.web.http.list_cursors import next_submissions, start_submissions_at
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.reviews.check_block import Rejection, rejection_item
from vskill_platform.web.submissions.shapes import SubmissionResponse
from vskill_platform.web.submissions.submission_json import submit_response
from vskill_platform.web.submissions.submit_skills import find_skills_in, submit_chosen

_MAX_ROWS = 100
_REJECTED = (SubmissionState.REJECTED, SubmissionState.TIER1_FAILED)
#: Reading a repository takes seconds; those not read within this time have to be sent again.
_BULK_SECONDS = 45.0
_NOT_READ = "not read in time; send it again"
RepoText = Annotated[str, msgspec.Meta(max_length=500)]


class BulkRequest(Shape, frozen=True, kw_only=True):
    """Up to 100 repositories, in any of the fields that clients use."""

    repos: Annotated[tuple[RepoText, ...], msgspec.Meta(max_length=100)] = ()
    repo_urls: Annotated[tuple[RepoText, ...], msgspec.Meta(max_length=100)] = ()
    source: Text = ""


class BulkItem(Shape, frozen=True, kw_only=True):
    repo_url: str
    #: submitted, skipped or error
    status: str
    submissions: tuple[SubmissionResponse, ...] = ()
    error: str | None = None


class BulkSummary(Shape, frozen=True, kw_only=True):
    submitted: int
    skipped: int
    errors: int


class BulkResponse(Shape, frozen=True, kw_only=True):
    summary: BulkSummary
    results: list[BulkItem]


class RejectionList(Shape, frozen=True, kw_only=True):
    rejections: list[Rejection]
    total: int
    next_cursor: str | None


async def submit_bulk(request: WebRequest, data: JSONBody[BulkRequest]) -> BulkResponse:
    """Submit every skill of up to 100 repositories; a failed one does not stop the others."""
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
    return BulkResponse(summary=summary, results=results)


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
    taken = [submit_response(member.result) for member in done.members if member.result]
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
    query = SubmissionQuery(
        text=q,
        states=_REJECTED,
        sort=SubmissionSort.UPDATED,
        limit=size,
        visible=await visible_to(visitor_of(request)),
        **start_submissions_at(cursor, offset),
    )
    found = await catalogue_of(request).list_submissions(query)
    response = RejectionList(
        rejections=[rejection_item(row) for row in found.rows],
        total=found.total,
        next_cursor=next_submissions(query, found),
    )
    return Response(response, headers=headers)
