"""Submissions as a page and over the API: details, retry and withdraw."""

from typing import Annotated

from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.catalogue.query import SubmissionQuery, SubmissionSort
from vskill_platform.errors import InvalidInput, NotSignedIn
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.appeals import (
    MAX_TEXT,
    can_see_appeal,
    find_verdict,
    may_appeal,
)
from vskill_platform.stores.appeal_store import get_appeal_against, list_appeals_about
from vskill_platform.stores.db import get_queue
from vskill_platform.web.http.api_types import (
    Limit,
    Offset,
    ReasonRequest,
    SearchText,
    clamp,
)
from vskill_platform.web.http.list_cursors import next_submissions, start_submissions_at
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.shapes import Positions, SubmissionDetail, SubmissionList
from vskill_platform.web.submissions.submission_json import submission_detail, submission_item
from vskill_platform.web.submissions.submission_view import (
    of_set,
    positions_of,
    retry_submission,
    view_submission,
    withdraw_submission,
)

_MAX_ROWS = 100
_MAX_IDS = 100
_MAX_APPEALS = 20


async def submission_page(request: WebRequest, submission_id: FromPath[str]) -> Template:
    visitor = visitor_of(request)
    view = await view_submission(
        visitor, (await find_visible_submission(visitor, submission_id)).record
    )
    verdict = await find_verdict(submission_id)
    context = {
        "view": view,
        "may_appeal": verdict is not None and await may_appeal(visitor, verdict),
        "appealed": await get_appeal_against(verdict.id) if verdict else None,
        "appeals": [
            one
            for one in await list_appeals_about(submission_id, limit=_MAX_APPEALS)
            if await can_see_appeal(visitor, one)
        ],
        "max_appeal": MAX_TEXT,
    }
    return Template("pages/submission.html", context=context)


async def retry_form(request: WebRequest, submission_id: FromPath[str]) -> Redirect:
    visitor = visitor_of(request)
    await retry_submission(visitor, submission_id)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


async def withdraw_form(request: WebRequest, submission_id: FromPath[str]) -> Redirect:
    form = await request.form()
    await withdraw_submission(
        visitor_of(request), submission_id, reason=str(form.get("reason", ""))
    )
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


@operation(is_listed=True)
async def list_submissions(
    request: WebRequest,
    states: Annotated[list[SubmissionState] | None, QueryParameter(name="state")] = None,
    q: SearchText = "",
    sort: FromQuery[SubmissionSort] = SubmissionSort.NEWEST,
    set_id: Annotated[str, QueryParameter(name="set", max_length=100)] = "",
    mine: FromQuery[bool] = False,
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: FromQuery[str | None] = None,
) -> Response[SubmissionList]:
    """List submissions with their total. At most 100 at once; use `nextCursor` for more."""
    visitor = visitor_of(request)
    if mine and visitor.user is None:
        raise NotSignedIn("sign in to list your own submissions")
    size, headers = clamp(limit, _MAX_ROWS)
    query = SubmissionQuery(
        text=q,
        states=tuple(states or ()),
        sort=sort,
        submitter=visitor.name if mine else "",
        limit=size,
        visible=await visible_to(visitor),
        **start_submissions_at(cursor, offset),
        **await of_set(set_id),
    )
    found = await catalogue_of(request).list_submissions(query)
    answer = SubmissionList(
        submissions=[submission_item(row) for row in found.rows],
        total=found.total,
        queue_positions=await positions_of(found.rows),
        next_cursor=next_submissions(query, found),
    )
    return Response(answer, headers=headers)


@operation(is_listed=True)
async def show_positions(
    request: WebRequest, ids: Annotated[str, QueryParameter(max_length=5000)] = ""
) -> Positions:
    """Show the queue positions of up to 100 submissions, by ids separated by commas.

    1 is next; 1,001 means more than 1,000. The response omits submissions that are not queued or
    not visible to the caller.
    """
    asked = tuple(dict.fromkeys(one for one in ids.split(",") if one))
    if not 1 <= len(asked) <= _MAX_IDS:
        raise InvalidInput(f"give 1 to {_MAX_IDS} ids, separated by commas")
    query = SubmissionQuery(
        ids=asked, limit=_MAX_IDS, visible=await visible_to(visitor_of(request))
    )
    found = await catalogue_of(request).list_submissions(query)
    stats = await get_queue().stats()
    return Positions(
        positions=await positions_of(found.rows), total=stats.ready + stats.leased + stats.delayed
    )


async def show_submission(request: WebRequest, submission_id: FromPath[str]) -> SubmissionDetail:
    """Show a submission with its history, timings and findings."""
    visitor = visitor_of(request)
    submission = (await find_visible_submission(visitor, submission_id)).record
    return submission_detail(await view_submission(visitor, submission))


async def retry_over_api(request: WebRequest, submission_id: FromPath[str]) -> SubmissionDetail:
    """Retry a completed submission with the current content of its source."""
    visitor = visitor_of(request)
    opened = await retry_submission(visitor, submission_id)
    return submission_detail(await view_submission(visitor, opened))


async def withdraw_over_api(
    request: WebRequest, submission_id: FromPath[str], data: JSONBody[ReasonRequest]
) -> SubmissionDetail:
    """Withdraw a submission."""
    visitor = visitor_of(request)
    withdrawn = await withdraw_submission(visitor, submission_id, reason=data.reason)
    return submission_detail(await view_submission(visitor, withdrawn))
