"""The OpenAPI document, built from the route table.

Litestar describes parameters, bodies and successful responses. Errors, headers and security follow
from the route: its right, its parameters, and whether it changes something. The decorator
`operation` declares the rest at the handler.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from litestar import Litestar, Router
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.config import OpenAPIConfig
from litestar.routes import HTTPRoute

from vskill_platform import __version__
from vskill_platform.model.rights import SCOPE_RIGHTS, Right, Scope
from vskill_platform.web.http.bodies import body_media_type, check_media_type
from vskill_platform.web.http.csrf import CSRF_HEADER
from vskill_platform.web.http.guard import RIGHT
from vskill_platform.web.http.problem_kinds import KINDS, REFUSALS, UNEXPECTED
from vskill_platform.web.http.problems import PROBLEM_TYPE, Problem
from vskill_platform.web.http.requests import REQUEST_ID_HEADER, SAFE_METHODS
from vskill_platform.web.http.route import build_handler
from vskill_platform.web.http.visitor import SESSION_COOKIE
from vskill_platform.web.routes import API

_UNCHANGED, _FIRST_PROBLEM, _NOT_SIGNED_IN = 304, 400, 401
_COME_BACK = frozenset({429, 503})
#: Invalid token, too many requests, outage, unexpected error.
_ANYWHERE = frozenset({401, 429, 500, 503})
_HEADERS = {
    "ETag": "Identifies this content; send it back as If-None-Match.",
    "Retry-After": "Seconds to wait before trying again.",
    "X-Limit-Clamped": "Present if the limit was too high: the highest limit.",
    "Warning": 'Present while the search index is out of date: 110 - "Response is Stale".',
    "Age": "With a Warning: seconds since the search index was current.",
    "WWW-Authenticate": "How to authenticate.",
    REQUEST_ID_HEADER: "Id of the request in the registry's log.",
}
_SECURITY_SCHEMES = {
    "token": {"type": "http", "scheme": "bearer", "description": "Authorization: Bearer vsk_…"},
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE},
    "form": {
        "type": "apiKey",
        "in": "header",
        "name": CSRF_HEADER,
        "description": "CSRF token; required with a session to change something.",
    },
}

_PROBLEM_CONTENT = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


_ABOUT = (
    "Write slugs such as `ada/notes/tidy` with slashes or with %2F. Errors are problem+json with a "
    "stable `code` and a `hint` that says what to do. Reads have an ETag. Authenticate "
    "with a token: `Authorization: Bearer vsk_…`"
)


def api_router() -> Router:
    handlers = [build_handler(row, tag=tag) for tag, rows in API.items() for row in rows]
    return Router("/", route_handlers=handlers, guards=[check_media_type])


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI document of the API.

    A second application that never runs generates it. In the real one, Litestar would add its own
    documentation pages, which load scripts from other hosts.
    """
    config = OpenAPIConfig(
        title="vskill-platform",
        version=__version__,
        description=_ABOUT,
        use_handler_docstrings=True,
    )
    described = Litestar(route_handlers=[api_router()], openapi_config=config, logging_config=None)
    document = described.openapi_schema.to_schema()
    _describe_responses(document, described)
    return document


class _Operation(msgspec.Struct, frozen=True):
    method: str
    path: str
    handler: HTTPRouteHandler
    #: The operation in the document, which is completed in place.
    described: dict[str, Any]

    @property
    def right(self) -> Right:
        right: Right = self.handler.opt[RIGHT]
        return right

    @property
    def is_change(self) -> bool:
        return self.method not in SAFE_METHODS

    @property
    def parameters(self) -> set[str]:
        """The names of its path and query parameters."""
        return {one["name"] for one in self.described.get("parameters", ())}


def _describe_responses(document: dict[str, Any], app: Litestar) -> None:
    """Complete the document of *app*: errors, headers and security."""
    document.pop("security", None)
    parts = document["components"]
    parts["schemas"]["Problem"] = _problem_schema()
    parts["securitySchemes"] = _SECURITY_SCHEMES
    parts["headers"] = {
        name: {"description": words, "schema": {"type": "string"}}
        for name, words in _HEADERS.items()
    }
    statuses: set[int] = set()
    for operation in _operations(document, app):
        given = _problems_of(operation)
        statuses |= given
        _describe_own_responses(operation)
        own = given & set(operation.handler.responses or ())
        for status in own:  # from the handler, or an error before it runs
            operation.described["responses"][str(status)]["content"] |= _PROBLEM_CONTENT
        operation.described["responses"] |= {
            str(status): {"$ref": f"#/components/responses/{_name(status)}"}
            for status in sorted(given - own)
        }
        operation.described["security"] = _security_of(operation)
    parts["responses"] = {_name(status): _problem_response(status) for status in sorted(statuses)}


def _operations(document: dict[str, Any], app: Litestar) -> Iterator[_Operation]:
    for route in app.routes:
        described = document["paths"].get(route.path_format, {})
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            for method in handler.http_methods:
                if operation := described.get(method.lower()):
                    yield _Operation(method, route.path_format, handler, operation)


def _problems_of(operation: _Operation) -> set[int]:
    """Return the error statuses that an operation can return."""
    opt = operation.handler.opt
    found = set(_ANYWHERE) | set(opt.get("also", ()))
    if body_media_type(operation.handler):
        found |= {400, 413, 415}
    if operation.parameters:
        found.add(400)
    if "{" in operation.path:
        found.add(404)
    if "{slug}" in operation.path:
        found.add(410)
    if operation.right is not Right.ANYONE or operation.is_change:
        found.add(403)
    if operation.is_change and opt.get("changes", True):
        found.add(409)
    return found


def _describe_own_responses(operation: _Operation) -> None:
    """Complete the handler's own responses."""
    answers = operation.described["responses"]
    names = [REQUEST_ID_HEADER, *_headers_of(operation)]
    for status, answer in answers.items():
        if int(status) < _FIRST_PROBLEM or int(status) in (operation.handler.responses or ()):
            answer["headers"] = answer.get("headers", {}) | _headers(names)
    if _has_tag(operation):
        answers[str(_UNCHANGED)] = {
            "description": "Not modified",
            "headers": _headers(names),
        }


def _headers_of(operation: _Operation) -> Iterator[str]:
    if _has_tag(operation):
        yield "ETag"
    if "limit" in operation.parameters:
        yield "X-Limit-Clamped"
    # A name without a namespace is looked up in the search index.
    if "{slug}" in operation.path or operation.handler.opt.get("is_listed"):
        yield from ("Warning", "Age")


def _has_tag(operation: _Operation) -> bool:
    kept = operation.handler.cache_control
    return operation.method == "GET" and not (kept and kept.no_store)


def _security_of(operation: _Operation) -> list[dict[str, list[str]]]:
    """Return the ways to authenticate: a token with one of these scopes, a session, or nothing."""
    right = operation.right
    scopes = [scope.value for scope in Scope if right in SCOPE_RIGHTS[scope]]
    session: dict[str, list[str]] = {"session": []}
    if operation.is_change:
        session["form"] = []
    # A setting decides whether submitting needs an account.
    needs_none = right in {Right.ANYONE, Right.SUBMIT}
    return [*([{}] if needs_none else []), {"token": scopes}, session]


def _problem_schema() -> dict[str, Any]:
    (_,), parts = msgspec.json.schema_components([Problem])
    schema: dict[str, Any] = parts["Problem"]
    return schema | {"required": list(schema["properties"])}


def _problem_response(status: int) -> dict[str, Any]:
    kinds = (*KINDS.values(), *REFUSALS.values(), UNEXPECTED)
    codes = dict.fromkeys(kind.code for kind in kinds if kind.status == status)
    names = [REQUEST_ID_HEADER]
    names += ["Retry-After"] if status in _COME_BACK else []
    names += ["WWW-Authenticate"] if status == _NOT_SIGNED_IN else []
    return {
        "description": ", ".join(codes),
        "headers": _headers(names),
        "content": _PROBLEM_CONTENT,
    }


def _headers(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _name(status: int) -> str:
    return f"Problem{status}"
