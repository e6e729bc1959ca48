"""What the path and the headers of a request say, and the id of each request."""

import random
from pathlib import Path
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.types import Scope

#: Any request, and any connection: what is in their state is read by functions of this package.
WebRequest = Request[Any, Any, Any]
Connection = ASGIConnection[Any, Any, Any, Any]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
#: For probes, which know this machine by any address.
_HEALTH = frozenset({"/healthz", "/healthz/queue", "/readyz"})
_STATIC = "/static/"
_STATIC_FOLDER = Path(__file__).parents[1] / "static"
_STATIC_FILES = frozenset(f"{_STATIC}{path.name}" for path in _STATIC_FOLDER.iterdir())
REQUEST_ID_HEADER = "X-Request-Id"
_REQUEST_ID = "vskill_request_id"


def is_health(path: str) -> bool:
    return path in _HEALTH


def is_plain(path: str) -> bool:
    """Tell whether nobody is looked up nor counted: these must answer when nothing else does."""
    return is_health(path) or path in _STATIC_FILES


def leads_nowhere(path: str) -> bool:
    """Tell whether nothing can be there: the file system and others choke on such names."""
    return not path.isprintable() or (path.startswith(_STATIC) and path not in _STATIC_FILES)


def is_api(connection: Connection) -> bool:
    return connection.scope["path"].startswith("/api/")


def wants_html(connection: Connection) -> bool:
    """Tell whether a person looks at the answer."""
    return "text/html" in connection.headers.get("accept", "") and not is_api(connection)


def request_id_of(scope: Scope) -> str:
    """Return the name of a request; the first who asks gives it one."""
    state = scope["state"]
    if _REQUEST_ID not in state:
        # It is no secret, and asking the system for one would hand over the interpreter lock.
        state[_REQUEST_ID] = f"req_{random.getrandbits(80):020x}"
    name: str = state[_REQUEST_ID]
    return name
