"""What went wrong, said in one sentence: as a problem to programs, as a page to people."""

import math
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, NotFoundException
from litestar.response import Redirect, Template

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import (
    DeadlineExceeded,
    EngineError,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    NotReady,
    NotSignedIn,
    Overtaken,
    RequestForged,
    RightMissing,
    SlugTaken,
    SourceRefused,
    SourceUnavailable,
    TooMany,
)
from vskill_platform.web.access.paths import sign_in_url, wants_html
from vskill_platform.web.access.request_id import request_id_of

log = get_logger(__name__)

#: When to come back after an outage, if nobody knows better.
RETRY_AFTER_SECONDS = 5
_SERVER_ERROR = 500


class Kind(msgspec.Struct, frozen=True):
    """What all problems of one kind have in common."""

    status: int
    #: For programs; it never changes.
    code: str
    title: str
    #: What to do about it.
    hint: str = ""


OUTAGE = Kind(
    503,
    "outage",
    "The registry cannot reach its database",
    "Nothing is lost. Please try again in a moment.",
)
UNEXPECTED = Kind(
    500,
    "unexpected",
    "Something broke",
    "It was written down. Please try again, or tell us the id.",
)
#: The first that fits is it, so what is more special stands first.
KINDS: dict[type[Exception], Kind] = {
    InvalidInput: Kind(400, "invalid_input", "That cannot be right", "Correct it and try again."),
    NotSignedIn: Kind(
        401, "not_signed_in", "Please sign in", "Programs send a token: Authorization: Bearer vsk_…"
    ),
    RequestForged: Kind(
        403, "request_forged", "This did not come from our page", "Open the page again and resend."
    ),
    RightMissing: Kind(403, "right_missing", "You may not do this", "An admin can give the role."),
    NotAllowed: Kind(403, "not_allowed", "This is not allowed"),
    NotFound: Kind(404, "not_found", "There is nothing here", "Look for it from the first page."),
    InvalidTransition: Kind(409, "wrong_state", "It is past that", "Look at where it is now."),
    SlugTaken: Kind(409, "slug_taken", "The name is taken", "Choose another name."),
    Overtaken: Kind(409, "overtaken", "Somebody else was faster", "Look again, then try again."),
    SourceRefused: Kind(422, "source_refused", "The source cannot be used"),
    TooMany: Kind(429, "too_many", "That was too often", "Wait a little."),
    SourceUnavailable: Kind(424, "source_unavailable", "The source does not answer", "Try later."),
    DeadlineExceeded: Kind(424, "too_slow", "It took too long", "Try again."),
    NotReady: Kind(503, "not_ready", "The catalogue is being built", "Try again in a moment."),
    EngineError: OUTAGE,
}
#: What the framework refuses by itself.
_CODES = {
    400: ("invalid_input", "That cannot be right"),
    405: ("method_not_allowed", "That cannot be done here"),
    413: ("too_large", "That is too large"),
    415: ("wrong_media_type", "That is not of a kind that is understood"),
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457, with a code for programs, a hint for people and the id of the request."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    hint: str
    request_id: str


def answer_problem(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answer whatever was raised; what only the operator should know goes into the log alone."""
    is_page = wants_html(request)
    if isinstance(error, NotSignedIn) and is_page:
        return Redirect(sign_in_url(request), status_code=303)
    kind = _kind_of(error)
    problem = Problem(
        title=kind.title,
        status=kind.status,
        detail=_detail_of(error, kind),
        code=kind.code,
        hint=kind.hint,
        request_id=request_id_of(request.scope),
    )
    _write_down(request, error, kind)
    headers = _headers_of(error, kind)
    if is_page:
        return Template(
            "error.html", context={"problem": problem}, status_code=kind.status, headers=headers
        )
    return Response(
        problem, status_code=kind.status, headers=headers, media_type="application/problem+json"
    )


def _kind_of(error: Exception) -> Kind:
    found = next((kind for type_, kind in KINDS.items() if isinstance(error, type_)), None)
    if found:
        return found
    if isinstance(error, NotFoundException):
        return KINDS[NotFound]
    if isinstance(error, HTTPException) and error.status_code < _SERVER_ERROR:
        code, title = _CODES.get(error.status_code, ("refused", "That was refused"))
        return Kind(error.status_code, code, title)
    return UNEXPECTED


def _detail_of(error: Exception, kind: Kind) -> str:
    if kind.status >= _SERVER_ERROR and kind in {OUTAGE, UNEXPECTED}:
        return kind.hint
    if isinstance(error, NotFoundException):
        return "No page and no answer has this address."
    if isinstance(error, HTTPException):
        extra = error.extra if isinstance(error.extra, list) else []
        parts = [f"{item.get('key', '')}: {item.get('message', '')}" for item in extra]
        return "; ".join(parts) or error.detail
    return str(error)


def _headers_of(error: Exception, kind: Kind) -> dict[str, str]:
    headers = {}
    if isinstance(error, HTTPException) and error.headers:
        headers.update(error.headers)
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
    elif kind is OUTAGE:
        log.error("request met an outage", path=path, error=str(error))
