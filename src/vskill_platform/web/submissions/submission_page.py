"""One submission: where it is, what was found, what to do next, and what may be done with it."""

from typing import Any

from litestar import Request
from litestar.params import FromPath
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from vskill_platform.access.visibility import find_visible_submission
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.submission_view import (
    retry_submission,
    view_submission,
    withdraw_submission,
)

PageRequest = Request[Any, Any, Any]


async def submission_page(request: PageRequest, submission_id: FromPath[str]) -> Template:
    visitor = visitor_of(request)
    view = await view_submission(
        visitor, (await find_visible_submission(visitor, submission_id)).record
    )
    return Template("pages/submission.html", context={"view": view})


async def retry_form(request: PageRequest, submission_id: FromPath[str]) -> Redirect:
    visitor = visitor_of(request)
    await retry_submission(visitor, submission_id)
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)


async def withdraw_form(request: PageRequest, submission_id: FromPath[str]) -> Redirect:
    form = await request.form()
    await withdraw_submission(
        visitor_of(request), submission_id, reason=str(form.get("reason", ""))
    )
    return Redirect(f"/submissions/{submission_id}", status_code=HTTP_303_SEE_OTHER)
