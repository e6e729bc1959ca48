"""Flash messages, and admin forms that redirect with one.

The message is in a cookie, because a link could put any text into a query string.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, unquote

from litestar import Response
from litestar.datastructures import Cookie
from litestar.response import Redirect, Template

from vskill_platform.errors import (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    Overtaken,
    RightMissing,
    SlugTaken,
)
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.headers import NOT_KEPT
from vskill_platform.web.http.requests import WebRequest

DONE, PROBLEM = "done", "problem"
_COOKIE = "vskill_said"
_SECONDS = 60
#: Browsers drop a cookie of more than 4096 bytes with its name and all.
_MAX_BYTES = 3_500
_PANEL = "/admin"
#: What an operator can do something about; all else is an error page.
_SAYABLE = (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    Overtaken,
    SlugTaken,
)


def say(kind: str, words: str, *, on: str) -> Cookie:
    """Have the pages below *on* show this once: DONE or PROBLEM, in words."""
    return _cookie(f"{kind}:{_fitted(words)}", on=on, seconds=_SECONDS)


def heard(request: WebRequest, *, on: str) -> tuple[dict[str, str], list[Cookie]]:
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


async def act(back_to: str, work: Callable[[], Awaitable[str]]) -> Redirect:
    """Do it and lead back; what it answers, or why it did not work, is said there."""
    try:
        kind, words = DONE, await work()
    except RightMissing:
        raise
    except _SAYABLE as error:
        kind, words = PROBLEM, str(error)
    return Redirect(back_to, status_code=303, cookies=[say(kind, words, on=_PANEL)])


async def act_and_show(back_to: str, work: Callable[[], Awaitable[Template]]) -> Response[Any]:
    """Do it and answer with the page that shows what came of it: for what no cookie may carry."""
    try:
        return await work()
    except RightMissing:
        raise
    except _SAYABLE as error:
        return Redirect(back_to, status_code=303, cookies=[say(PROBLEM, str(error), on=_PANEL)])


def admin_page(
    request: WebRequest, template: str, context: dict[str, Any], *, is_kept: bool = True
) -> Template:
    """Show a page of the panel, with what came of the last act."""
    said, cookies = heard(request, on=_PANEL)
    headers = {} if is_kept else NOT_KEPT
    return Template(template, context=said | context, cookies=cookies, headers=headers)
