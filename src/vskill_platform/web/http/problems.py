"""Error responses: problem+json for programs, a page for people."""

import math
from enum import Enum
from typing import Any, get_args

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.params import ParameterKwarg
from litestar.response import Redirect, Template
from litestar.status_codes import (
    HTTP_400_BAD_REQUEST,
    HTTP_404_NOT_FOUND,
    HTTP_405_METHOD_NOT_ALLOWED,
    HTTP_413_REQUEST_ENTITY_TOO_LARGE,
)
from litestar.typing import FieldDefinition

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import NotSignedIn
from vskill_platform.web.http.bodies import BODY_ARGUMENT, body_media_type
from vskill_platform.web.http.problem_kinds import (
    DISK_NEARLY_FULL,
    OUT_OF_RESOURCES,
    OUTAGE,
    UNEXPECTED,
    ProblemKind,
    kind_of,
)
from vskill_platform.web.http.requests import (
    WebRequest,
    is_clawhub_route,
    is_git,
    request_id_of,
    wants_html,
)
from vskill_platform.web.http.urls import sign_in_url
from vskill_platform.web.http.visitor import hide_path_token

#: Litestar's message for a missing body.
_NO_BODY = f"'{BODY_ARGUMENT}'"
_IN_THE_BODY = "the body"
log = get_logger(__name__)

#: The default Retry-After of an outage.
RETRY_AFTER_SECONDS = 5
PROBLEM_TYPE = "application/problem+json"
#: The code of a problem with a plain text response.
ERROR_CODE_HEADER = "X-Error-Code"


def framework_message(request: WebRequest, error: HTTPException) -> str:
    """Return a message for an error of Litestar, with the names that the client used."""
    handler = request.scope.get("route_handler")
    if error.status_code == HTTP_404_NOT_FOUND:
        return "No page has this address."
    if error.status_code == HTTP_405_METHOD_NOT_ALLOWED:
        return f"{request.scope['method']} is not allowed here."
    if not isinstance(handler, HTTPRouteHandler):
        return error.detail
    if error.status_code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
        return f"The limit is {handler.resolve_request_max_body_size():,} bytes."
    if isinstance(error.extra, list):
        return "; ".join(_mistake(item, handler) for item in error.extra)
    is_unreadable = error.status_code == HTTP_400_BAD_REQUEST and body_media_type(handler)
    return f"{_IN_THE_BODY} cannot be read: {error.detail}" if is_unreadable else error.detail


def framework_headers(request: WebRequest, error: HTTPException) -> dict[str, str]:
    """Return the headers of Litestar's error; HEAD is added to Allow, because it works like GET."""
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    allowed = set(headers.get("allow", "").split(", "))
    if "GET" in allowed and request.scope["method"] != "HEAD":
        headers["allow"] = ", ".join(sorted(allowed | {"HEAD"}))
    return headers


def _mistake(item: dict[str, str], handler: HTTPRouteHandler) -> str:
    key, message = item.get("key", ""), item.get("message", "")
    if key == BODY_ARGUMENT:
        if message == _NO_BODY:
            return f"{_IN_THE_BODY} is missing: send {body_media_type(handler)}"
        return f"{_IN_THE_BODY}: {message}"
    field = handler.parsed_fn_signature.parameters.get(key)
    if field is None or item.get("source") == "body":
        return f"{key}: {message}"
    words = ", ".join(_choices(field.annotation))
    return f"{_sent_name(key, field)}: {message}" + (f"; use one of {words}" if words else "")


def _sent_name(key: str, field: FieldDefinition) -> str:
    """Return the name of a parameter in the query."""
    definition = field.kwarg_definition
    return (isinstance(definition, ParameterKwarg) and definition.name) or key


def _choices(annotation: Any) -> list[str]:
    """Return the allowed values of an enum parameter; none for others."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(item.value) for item in annotation if item.value]
    return [word for inner in get_args(annotation) for word in _choices(inner)]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """RFC 9457, with a stable code, a hint and the request id."""

    type: str = "about:blank"
    title: str
    status: int
    #: What is wrong with this particular request.
    detail: str
    #: Stable identifier for programs.
    code: str
    #: What to do about it.
    hint: str
    #: Id of the request in the registry's log.
    request_id: str
    #: The title again, for older clients.
    error: str


def problem_response(request: WebRequest, error: Exception) -> Response[Any]:
    """Turn an exception into a response; internal details go to the log only."""
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
    _log_error(request, error, kind)
    headers = _headers_of(request, error, kind)
    if is_clawhub_route(request):  # its clients show the body unchanged
        headers[ERROR_CODE_HEADER] = kind.code
        return Response(
            problem.detail, status_code=kind.status, headers=headers, media_type=MediaType.TEXT
        )
    if is_page:
        lead = {name: getattr(error, name, "") for name in ("look_for", "go_to")}
        context = {"problem": problem, **lead}
        return Template("error.html", context=context, status_code=kind.status, headers=headers)
    return Response(problem, status_code=kind.status, headers=headers, media_type=PROBLEM_TYPE)


def _detail_of(request: WebRequest, error: Exception, kind: ProblemKind) -> str:
    if kind.detail:
        return kind.detail
    return framework_message(request, error) if isinstance(error, HTTPException) else str(error)


def _headers_of(request: WebRequest, error: Exception, kind: ProblemKind) -> dict[str, str]:
    headers = framework_headers(request, error) if isinstance(error, HTTPException) else {}
    if isinstance(error, NotSignedIn):
        scheme = "Basic" if is_git(request.scope) else "Bearer"
        headers["WWW-Authenticate"] = f'{scheme} realm="vskill-platform"'
    wait = getattr(error, "retry_after", None)
    if wait is not None:
        headers["Retry-After"] = str(math.ceil(wait.total_seconds()))
    elif kind.status == OUTAGE.status:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return headers


def _log_error(request: WebRequest, error: Exception, kind: ProblemKind) -> None:
    path = hide_path_token(request.scope["path"])
    if kind is UNEXPECTED:
        log.error("request failed", path=path, exc_info=error)
    elif kind in {OUTAGE, DISK_NEARLY_FULL, OUT_OF_RESOURCES}:
        log.error("request failed: service unavailable", path=path, error=str(error))
