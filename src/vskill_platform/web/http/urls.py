"""Build the URLs of skill pages and of the sign-in form."""

from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from vskill_platform.web.http.requests import SAFE_METHODS, WebConnection

SIGN_IN = "/sign-in"
#: Key of the reason that a user typed into a form whose session had expired.
TYPED_REASON = "typed_reason"
#: Pages to which sign-in does not return.
_NO_WAY_BACK = (SIGN_IN, "/sign-out", "/welcome", "/forgot-password", "/confirm-address")

#: How many lines the first page of a file always shows, unless they are very long.
_ON_THE_FIRST_PAGE = 1_000
#: How many lines are shown before a linked line.
_LINES_BEFORE = 20


def skill_url(slug: str, *parts: str, **query: Any) -> str:
    """Return the URL of a skill's page or of a part of it, without empty values."""
    path = "/".join(quote(part, safe="/@") for part in ("/skills", slug, *parts) if part)
    return with_query(path, **query)


def publisher_url(namespace: str) -> str:
    """Return the URL of a publisher's page, which never equals that of another page."""
    is_short = namespace.startswith("@") and "/" not in namespace
    return quote(f"/{namespace}" if is_short else f"/publishers/{namespace}", safe="/@")


def line_url(slug: str, path: str, line: int | None, version: str = "") -> str:
    """Return the URL of a line of a file; lines far down are on a later page."""
    start = line - _LINES_BEFORE if line and line > _ON_THE_FIRST_PAGE else None
    anchor = f"#L{line}" if line else ""
    return skill_url(slug, "files", path, version=version, **{"from": start}) + anchor


def with_query(path: str, /, **query: Any) -> str:
    wanted = {name: value for name, value in query.items() if value not in {"", None}}
    return f"{path}?{urlencode(wanted)}" if wanted else path


def sign_in_url(connection: WebConnection) -> str:
    """Return the URL of the sign-in form, with the page to return to."""
    if connection.scope.get("method") in SAFE_METHODS:
        query = connection.scope.get("query_string", b"").decode("latin-1")
        back = connection.scope["path"] + (f"?{query}" if query else "")
    else:
        page = urlsplit(connection.headers.get("referer", ""))
        is_own = page.netloc == connection.headers.get("host")
        typed = connection.scope.get("state", {}).get(TYPED_REASON)
        back = with_query(page.path, reason=typed) if is_own else "/"
    back = safe_path(back)
    return SIGN_IN if back == "/" else f"{SIGN_IN}?{urlencode({'next': back})}"


def safe_path(text: str) -> str:
    r"""Return *text* if it is a path of this site, else `/`.

    Browsers treat a backslash as a slash and drop control characters, so `/\host` and `/<tab>/host`
    lead to other hosts, as `//host` does.
    """
    is_odd = "\\" in text or not text.isprintable() or not text.isascii()
    if not text.startswith("/") or text.startswith("//") or is_odd:
        return "/"
    path = urlsplit(text).path
    is_way_back = not any(path == place or path.startswith(f"{place}/") for place in _NO_WAY_BACK)
    return text if is_way_back else "/"
