"""Types of requests, facts from their path and headers, and the request id."""

import random
from pathlib import Path
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.types import Scope

#: Any request and any connection; functions of this package read their state.
WebRequest = Request[Any, Any, Any]
WebConnection = ASGIConnection[Any, Any, Any, Any]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: The prefix of the routes for ClawHub clients.
CLAWHUB = "/clawhub/"
MCP_PATH = "/mcp"
#: The path at which the sign-on provider reports sign-outs.
BACK_CHANNEL_LOGOUT = "/api/oidc/back-channel-logout"
#: Repositories of skills: git authenticates with a user name and a password, and reads with POST.
_GIT = "/git/"
#: Paths for programs, without pages or forms for browsers.
_FOR_PROGRAMS = ("/api/", "/apm/", MCP_PATH, CLAWHUB, _GIT)
#: Probes may use any host name.
_HEALTH = frozenset({"/healthz", "/healthz/queue", "/metrics", "/readyz"})
_STATIC = "/static/"
_STATIC_FOLDER = Path(__file__).parents[1] / "static"
_STATIC_FILES = frozenset(f"{_STATIC}{path.name}" for path in _STATIC_FOLDER.iterdir())
#: Longest number in a query.
_MAX_DIGITS = 7
REQUEST_ID_HEADER = "X-Request-Id"
_REQUEST_ID = "vskill_request_id"


def is_health(path: str) -> bool:
    return path in _HEALTH


def skips_identity(path: str) -> bool:
    """Return whether a path skips identification and rate limits: probes and static files."""
    return is_health(path) or path in _STATIC_FILES


def is_read(scope: Scope) -> bool:
    """Return whether a request counts as reading; MCP and git also read with POST.

    Requests for verdicts by ClawHub clients also count as reading. So do their uploads of single
    files, because a skill needs many; only the publication counts as writing. So do sign-outs by a
    sign-on provider, which reports those of many people from one address.
    """
    path = scope["path"]
    is_post = (
        path in {MCP_PATH, BACK_CHANNEL_LOGOUT}
        or is_git(scope)
        or path.startswith(f"{CLAWHUB}api/v1/skills/-/")
    )
    return scope.get("method") in SAFE_METHODS or is_post


def cannot_exist(path: str) -> bool:
    """Return whether a path cannot exist, because of unprintable characters or as a static file."""
    return not path.isprintable() or (path.startswith(_STATIC) and path not in _STATIC_FILES)


def is_git(scope: Scope) -> bool:
    return scope["path"].startswith(_GIT)


def is_api(connection: WebConnection) -> bool:
    path: str = connection.scope["path"]
    return path.startswith(_FOR_PROGRAMS)


def is_clawhub_route(connection: WebConnection) -> bool:
    path: str = connection.scope["path"]
    return path.startswith(CLAWHUB)


def wants_html(connection: WebConnection) -> bool:
    """Return whether to respond with a page."""
    return "text/html" in connection.headers.get("accept", "") and not is_api(connection)


def request_id_of(scope: Scope) -> str:
    """Return the request id; it is created on first use."""
    state = scope["state"]
    if _REQUEST_ID not in state:
        state[_REQUEST_ID] = new_request_id()
    name: str = state[_REQUEST_ID]
    return name


def new_request_id() -> str:
    # Not a secret, so no system call, which would release the GIL.
    return f"req_{random.getrandbits(80):020x}"


def whole_number(text: str) -> int:
    """Return the number in a query; 1 if there is none or it is absurd."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else 1
