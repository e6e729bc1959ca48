"""What went wrong, said in one sentence: as a problem to programs, as a page to people."""

import math
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect, Template

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import NotSignedIn
from vskill_platform.web.http.framework_errors import headers_of_refusal, words_of_refusal
from vskill_platform.web.http.problem_kinds import (
    OUT_OF_RESOURCES,
    OUTAGE,
    UNEXPECTED,
    Kind,
    kind_of,
)
from vskill_platform.web.http.request_id import request_id_of
from vskill_platform.web.http.requests import sign_in_url, wants_html

log = get_logger(__name__)

#: When to come back after an outage, if nobody knows better.
RETRY_AFTER_SECONDS = 5
PROBLEM_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457, with a code for programs, a hint for people and the id of the request."""

    type: str = "about:blank"
    title: str
    status: int
    #: What is wrong with this request.
    detail: str
    #: For programs; it never changes.
    code: str
    #: What to do about it.
    hint: str
    #: Names the request in the registry's log.
    request_id: str
    #: The title again, where clients of the original look for it.
    error: str


def answer_problem(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answer whatever was raised; what only the operator should know goes into the log alone."""
    is_page = wants_html(request)
    if isinstance(error, NotSignedIn) and is_page:
        return Redirect(sign_in_url(request), status_code=303)
    kind = kind_of(error)
    problem = Problem(
        title=kind.title,
        status=kind.status,
        detail=_detail_of(request, error, kind),
        code=kind.code,
        hint=kind.hint,
        request_id=request_id_of(request.scope),
        error=kind.title,
    )
    _write_down(request, error, kind)
    headers = _headers_of(request, error, kind)
    if is_page:
        context = {"problem": problem, "look_for": getattr(error, "look_for", "")}
        return Template("error.html", context=context, status_code=kind.status, headers=headers)
    return Response(problem, status_code=kind.status, headers=headers, media_type=PROBLEM_TYPE)


def _detail_of(request: Request[Any, Any, Any], error: Exception, kind: Kind) -> str:
    if kind.detail:
        return kind.detail
    return words_of_refusal(request, error) if isinstance(error, HTTPException) else str(error)


def _headers_of(request: Request[Any, Any, Any], error: Exception, kind: Kind) -> dict[str, str]:
    headers = headers_of_refusal(request, error) if isinstance(error, HTTPException) else {}
    if isinstance(error, NotSignedIn):
        headers["WWW-Authenticate"] = 'Bearer realm="vskill-platform"'
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        headers["Retry-After"] = str(math.ceil(wait.total_seconds()))
    elif kind.status == OUTAGE.status:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return headers


def _write_down(request: Request[Any, Any, Any], error: Exception, kind: Kind) -> None:
    path = request.scope["path"]
    if kind is UNEXPECTED:
        log.error("request failed", path=path, exc_info=error)
    elif kind in {OUTAGE, OUT_OF_RESOURCES}:
        log.error("request met an outage", path=path, error=str(error))
