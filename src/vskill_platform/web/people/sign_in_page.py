"""Signing in and out."""

from contextlib import suppress
from typing import Any

from litestar import Request, Response
from litestar.response import Redirect, Template

from vskill_platform.access.sessions import end_session
from vskill_platform.access.sign_in import sign_in
from vskill_platform.errors import NotFound, NotSignedIn, TooMany
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.web.http.cookies import ended_session_cookie, session_cookie
from vskill_platform.web.http.forms import read_fields
from vskill_platform.web.http.rate_limits import household, limits_of
from vskill_platform.web.http.requests import safe_path
from vskill_platform.web.http.visitor import visitor_of

#: Pages with secrets in them are not kept, not even by the browser.
NOT_KEPT = {"Cache-Control": "no-store"}
_MAX_NAME_LENGTH = 64


async def sign_in_page(request: Request[Any, Any, Any]) -> Response[Any]:
    back = safe_path(request.query_params.get("next", "/"))
    if visitor_of(request).via == "session":
        return Redirect(back, status_code=303)
    return _form(back)


async def sign_in_form(request: Request[Any, Any, Any]) -> Response[Any]:
    """Begin a session, always a new one; what is wrong with a try is the same for everybody."""
    fields = await read_fields(request)
    back, name = safe_path(fields.get("next", "/")), fields.get("name", "")[:_MAX_NAME_LENGTH]
    try:
        count_try(request, name)
        opened = await sign_in(
            name,
            fields.get("password", ""),
            address=visitor_of(request).address,
            browser=request.headers.get("user-agent", ""),
        )
    except TooMany as error:
        wait = int(error.retry_after.total_seconds()) if error.retry_after else 60
        words = f"That were many tries. Wait for {wait} seconds."
        return _form(back, name=name, problem=words, status=429, retry_after=wait)
    except NotSignedIn as error:
        return _form(back, name=name, problem=str(error), status=401)
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect(back, status_code=303, cookies=[cookie], headers=NOT_KEPT)


async def sign_out(request: Request[Any, Any, Any]) -> Redirect:
    visitor = visitor_of(request)
    if visitor.user and visitor.via == "session":
        with suppress(NotFound):  # it has ended meanwhile
            await end_session(visitor.user.name, visitor.credential)
    return Redirect("/", status_code=303, cookies=[ended_session_cookie(get_settings())])


def count_try(request: Request[Any, Any, Any], name: str) -> None:
    """Count a try for the address and for the name, before any of it is looked at."""
    limits, rate, now = limits_of(request), get_settings().sign_ins_per_minute, get_now()
    limits.take("sign-in", household(visitor_of(request).address), per_minute=rate, now=now)
    if name:
        limits.take("sign-in", f"name {name.strip().lower()}", per_minute=rate, now=now)


def _form(
    back: str, *, name: str = "", problem: str = "", status: int = 200, retry_after: int = 0
) -> Template:
    headers = {**NOT_KEPT, "Retry-After": str(retry_after)} if retry_after else NOT_KEPT
    context = {"next": back, "name": name, "problem": problem}
    return Template("pages/sign_in.html", context=context, status_code=status, headers=headers)
