"""What the path and the headers of a request say about who is asking, and what for."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from litestar.connection import ASGIConnection

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SIGN_IN = "/sign-in"
#: For probes, which know this machine by any address.
_HEALTH = frozenset({"/healthz", "/healthz/queue", "/readyz"})
_STATIC = "/static/"
_STATIC_FOLDER = Path(__file__).parents[1] / "static"
_STATIC_FILES = frozenset(f"{_STATIC}{path.name}" for path in _STATIC_FOLDER.iterdir())
#: Where signing in leads back to nothing.
_NO_WAY_BACK = (SIGN_IN, "/sign-out", "/welcome")


def is_health(path: str) -> bool:
    return path in _HEALTH


def is_plain(path: str) -> bool:
    """Tell whether nobody is looked up nor counted: these must answer when nothing else does."""
    return is_health(path) or path in _STATIC_FILES


def leads_nowhere(path: str) -> bool:
    """Tell whether nothing can be there: the file system and others choke on such names."""
    return not path.isprintable() or (path.startswith(_STATIC) and path not in _STATIC_FILES)


def is_api(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    return connection.scope["path"].startswith("/api/")


def wants_html(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Tell whether a person looks at the answer."""
    return "text/html" in connection.headers.get("accept", "") and not is_api(connection)


def sign_in_url(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return where to sign in, and come back to this page, or to the one with the form."""
    if connection.scope.get("method") in SAFE_METHODS:
        query = connection.scope.get("query_string", b"").decode("latin-1")
        back = connection.scope["path"] + (f"?{query}" if query else "")
    else:
        page = urlsplit(connection.headers.get("referer", ""))
        is_own = page.netloc == connection.headers.get("host")
        back = page.path if is_own else "/"
    back = safe_path(back)
    return SIGN_IN if back == "/" else f"{SIGN_IN}?{urlencode({'next': back})}"


def safe_path(text: str) -> str:
    r"""Return *text* if it leads to a page here, else the first page.

    Browsers read a backslash as a slash and leave out control characters, so that `/\host` and
    `/<tab>/host` lead to other hosts as `//host` does.
    """
    is_odd = "\\" in text or not text.isprintable() or not text.isascii()
    if not text.startswith("/") or text.startswith("//") or is_odd:
        return "/"
    path = urlsplit(text).path
    is_way_back = not any(path == place or path.startswith(f"{place}/") for place in _NO_WAY_BACK)
    return text if is_way_back else "/"
