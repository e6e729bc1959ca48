"""How an act of an operator is answered: back to where it was done, saying what came of it."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request, Response
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
from vskill_platform.web.html.flash import DONE, PROBLEM, heard, say
from vskill_platform.web.people.sign_in_page import NOT_KEPT

AdminRequest = Request[Any, Any, Any]
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
    request: AdminRequest, template: str, context: dict[str, Any], *, is_kept: bool = True
) -> Template:
    """Show a page of the panel, with what came of the last act."""
    said, cookies = heard(request, on=_PANEL)
    headers = {} if is_kept else NOT_KEPT
    return Template(template, context=said | context, cookies=cookies, headers=headers)
