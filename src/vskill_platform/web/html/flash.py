"""What came of the last act, for the next page alone.

A cookie, because what stands in an address could be put there by somebody else.
"""

from typing import Any
from urllib.parse import quote, unquote

from litestar import Request
from litestar.datastructures import Cookie

from vskill_platform.stores.db import get_settings

DONE, PROBLEM = "done", "problem"
_COOKIE = "vskill_said"
_SECONDS = 60
#: Browsers drop a cookie of more than 4096 bytes with its name and all.
_MAX_BYTES = 3_500


def say(kind: str, words: str, *, on: str) -> Cookie:
    """Have the pages below *on* show this once: DONE or PROBLEM, in words."""
    return _cookie(f"{kind}:{_fitted(words)}", on=on, seconds=_SECONDS)


def heard(request: Request[Any, Any, Any], *, on: str) -> tuple[dict[str, str], list[Cookie]]:
    """Return what was said, by kind, and the cookie that makes it forgotten."""
    kind, _, words = request.cookies.get(_COOKIE, "").partition(":")
    said = {DONE: "", PROBLEM: ""}
    if kind in said:
        said[kind] = unquote(words)
    return said, [_cookie("", on=on, seconds=0)] if words else []


def _fitted(words: str) -> str:
    """Return as much as a cookie can hold, and never half a letter."""
    length = len(words)
    while len(quoted := quote(words[:length])) > _MAX_BYTES:
        length = length * 9 // 10
    return quoted


def _cookie(value: str, *, on: str, seconds: int) -> Cookie:
    return Cookie(
        _COOKIE,
        path=on,
        value=value,
        max_age=seconds,
        httponly=True,
        samesite="strict",
        secure=get_settings().public_url.startswith("https://"),
    )
