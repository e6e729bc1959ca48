"""How an act of an operator is answered: back to where it was done, saying what came of it."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote, unquote

from litestar import Request
from litestar.datastructures import Cookie
from litestar.response import Redirect, Template

from vskill_platform.errors import (
    InvalidInput,
    InvalidTransition,
    NotAllowed,
    NotFound,
    Overtaken,
    RightMissing,
)

AdminRequest = Request[Any, Any, Any]
#: What came of the last act, for the next page alone. A cookie, because what stands in an address
#: could be put there by somebody else.
_COOKIE = "vskill_said"
_SECONDS = 60
_MAX_WORDS = 600
_DONE, _PROBLEM = "done", "problem"
#: What an operator can do something about; all else is an error page.
_SAYABLE = (InvalidInput, InvalidTransition, NotAllowed, NotFound, Overtaken)


async def act(back_to: str, work: Callable[[], Awaitable[str]]) -> Redirect:
    """Do it and lead back; what it answers, or why it did not work, is said there."""
    try:
        kind, words = _DONE, await work()
    except RightMissing:
        raise
    except _SAYABLE as error:
        kind, words = _PROBLEM, str(error)
    cookie = _cookie(f"{kind}:{quote(words[:_MAX_WORDS])}", seconds=_SECONDS)
    return Redirect(back_to, status_code=303, cookies=[cookie])


def admin_page(request: AdminRequest, template: str, context: dict[str, Any]) -> Template:
    """Show a page of the panel, with what came of the last act."""
    kind, _, words = request.cookies.get(_COOKIE, "").partition(":")
    said = {_DONE: "", _PROBLEM: ""} | ({kind: unquote(words)} if kind in {_DONE, _PROBLEM} else {})
    cookies = [_cookie("", seconds=0)] if words else []
    return Template(template, context=said | context, cookies=cookies)


def _cookie(value: str, *, seconds: int) -> Cookie:
    return Cookie(
        _COOKIE, path="/admin", value=value, max_age=seconds, httponly=True, samesite="strict"
    )
