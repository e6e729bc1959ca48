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
    NamespaceDeleted,
    NotAllowed,
    NotFound,
    Overtaken,
    RightMissing,
    SlugTaken,
    SourceError,
)
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest

DONE, PROBLEM = "done", "problem"
_COOKIE = "vskill_flash"
_SECONDS = 60
#: Browsers drop cookies of more than 4096 bytes, name and attributes included.
_MAX_BYTES = 3_500
_ADMIN = "/admin"
#: Errors that the user can fix; all others get an error page.
_SHOWN_ERRORS = (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NamespaceDeleted,
    NotAllowed,
    NotFound,
    Overtaken,
    SlugTaken,
    SourceError,
)


def flash(kind: str, words: str, *, on: str) -> Cookie:
    """Return the cookie that shows a message once, on the next page below *on*."""
    return _cookie(f"{kind}:{_fitted(words)}", on=on, seconds=_SECONDS)


def read_flash(request: WebRequest, *, on: str) -> tuple[dict[str, str], list[Cookie]]:
    """Return the message by kind, and the cookie that deletes it."""
    kind, _, words = request.cookies.get(_COOKIE, "").partition(":")
    messages = {DONE: "", PROBLEM: ""}
    if kind in messages:
        messages[kind] = unquote(words)
    return messages, [_cookie("", on=on, seconds=0)] if words else []


def _fitted(words: str) -> str:
    """Return as much of the text as fits into a cookie, without splitting a character."""
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


async def act(
    back_to: str, work: Callable[[], Awaitable[str]], *, on_error: str = "", on: str = _ADMIN
) -> Redirect:
    """Run an action and redirect to a page that shows its message, or its error.

    *on_error* is the page for an error: the form with everything that the user typed. Pages below
    *on* show the message.
    """
    try:
        kind, words = DONE, await work()
    except RightMissing:
        raise
    except _SHOWN_ERRORS as error:
        kind, words = PROBLEM, str(error)
        back_to = on_error or back_to
    return Redirect(back_to, status_code=303, cookies=[flash(kind, words, on=on)])


async def act_and_show(back_to: str, work: Callable[[], Awaitable[Template]]) -> Response[Any]:
    """Run an action and return its page, for results that must not be stored in a cookie."""
    try:
        return await work()
    except RightMissing:
        raise
    except _SHOWN_ERRORS as error:
        return Redirect(back_to, status_code=303, cookies=[flash(PROBLEM, str(error), on=_ADMIN)])


def admin_page(
    request: WebRequest, template: str, context: dict[str, Any], *, is_kept: bool = True
) -> Template:
    """Render an admin page with the message of the last action."""
    messages, cookies = read_flash(request, on=_ADMIN)
    headers = {} if is_kept else NO_STORE_HEADER
    return Template(template, context=messages | context, cookies=cookies, headers=headers)
