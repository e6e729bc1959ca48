"""Sign-in and sign-out, and the invitation link where a user chooses a password."""

from contextlib import suppress
from typing import Any

from litestar import Response
from litestar.datastructures import Cookie
from litestar.response import Redirect, Template

from vskill_platform.access.first_admin import forget_link
from vskill_platform.access.oidc.logout import find_logout_url
from vskill_platform.access.one_time_links import (
    is_mail_on,
    is_reset_link,
    read_one_time_link,
    use_one_time_link,
)
from vskill_platform.access.second_factor.sign_in_step import open_session, sign_in
from vskill_platform.access.sessions import end_session
from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotFound, NotSignedIn, SecondFactorNeeded, TooMany
from vskill_platform.sign_on_settings import sign_up_domains
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.one_time_link_store import OneTimeLink
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import safe_path
from vskill_platform.web.http.visitor import (
    ended_session_cookie,
    session_cookie,
    step_cookie,
    visitor_of,
)
from vskill_platform.web.people.confirm_identity import confirmed_password, count_attempt

SECOND_STEP = "/sign-in/second"
_MAX_NAME_LENGTH = 64


async def sign_in_page(request: WebRequest) -> Response[Any]:
    back = safe_path(request.query_params.get("next", "/"))
    if visitor_of(request).via == "session":
        return Redirect(back, status_code=303)
    return show_sign_in(back)


async def sign_in_form(request: WebRequest) -> Response[Any]:
    """Start a new session; the error is the same for an unknown name and a wrong password."""
    fields = await read_fields(request)
    back, name = safe_path(fields.get("next", "/")), fields.get("name", "")[:_MAX_NAME_LENGTH]
    try:
        await count_attempt(request, name)
        opened = await sign_in(
            name,
            fields.get("password", ""),
            back=back,
            address=visitor_of(request).address,
            browser=request.headers.get("user-agent", ""),
        )
    except TooMany as error:
        wait = int(error.retry_after.total_seconds()) if error.retry_after else 60
        words = f"Too many attempts. Try again in {count_of(wait, 'second')}."
        return show_sign_in(back, name=name, problem=words, status=429, retry_after=wait)
    except SecondFactorNeeded as needed:
        return ask_second_factor(needed)
    except NotSignedIn as error:
        return show_sign_in(back, name=name, problem=str(error), status=401)
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect(back, status_code=303, cookies=[cookie], headers=NO_STORE_HEADER)


def ask_second_factor(needed: SecondFactorNeeded) -> Redirect:
    cookie = step_cookie(needed.secret, get_settings())
    return Redirect(SECOND_STEP, status_code=303, cookies=[cookie], headers=NO_STORE_HEADER)


async def sign_out(request: WebRequest) -> Response[Any]:
    """End this session and, if it began at a provider, also sign out there."""
    visitor, url = visitor_of(request), ""
    if visitor.user and visitor.via == "session":
        url = await find_logout_url(visitor.user.name, visitor.credential)
        with suppress(NotFound):  # it has already ended
            await end_session(visitor.user.name, visitor.credential)
    cookie = ended_session_cookie(get_settings())
    if url:
        return leave_page(url, "You are signed out of this registry", cookies=[cookie])
    return Redirect("/", status_code=303, cookies=[cookie])


def leave_page(url: str, title: str, *, cookies: list[Cookie]) -> Template:
    """Show a page that continues to the sign-on provider by itself.

    This is not a redirect, because our pages allow forms to be sent only to this site, so browsers
    do not follow a redirect to another site after a form.
    """
    context = {"url": url, "title": title, "provider": get_settings().oidc_name}
    headers = {**NO_STORE_HEADER, "Refresh": f"0; url={url}"}
    return Template("pages/leave.html", context=context, headers=headers, cookies=cookies)


def show_sign_in(
    back: str, *, name: str = "", problem: str = "", status: int = 200, retry_after: int = 0
) -> Template:
    headers = (
        {**NO_STORE_HEADER, "Retry-After": str(retry_after)} if retry_after else NO_STORE_HEADER
    )
    settings = get_settings()
    context = {
        "next": back,
        "name": name,
        "problem": problem,
        "provider": settings.oidc_name if settings.oidc_issuer else "",
        "is_mail_on": is_mail_on(),
        "is_sign_up_open": bool(sign_up_domains(settings)),
        "has_passwords": settings.password_sign_in,
    }
    return Template("pages/sign_in.html", context=context, status_code=status, headers=headers)


async def welcome_page(request: WebRequest) -> Template:
    """Show the form of an invitation, without using the link."""
    key = request.query_params.get("key", "")
    welcome = await read_one_time_link(key)
    return _welcome_form(key, welcome, is_reset=await is_reset_link(welcome))


async def welcome_form(request: WebRequest) -> Response[Any]:
    """Use the link and start a session."""
    await count_attempt(request, "")
    fields = await read_fields(request)
    key, name = fields.get("key", ""), fields.get("name", "")
    welcome = await read_one_time_link(key)
    is_reset = await is_reset_link(welcome)
    try:
        password = confirmed_password(fields)
        user = await use_one_time_link(key, name=name, password=password)
    except InvalidInput as error:
        again = _welcome_form(key, welcome, is_reset=is_reset, name=name, problem=str(error))
        again.status_code = 400
        return again
    if welcome.user is None:
        await forget_link(get_settings())
    back = f"/account?done={'password' if is_reset else 'welcome'}"
    try:
        opened = await open_session(
            user,
            back=back,
            address=visitor_of(request).address,
            browser=request.headers.get("user-agent", ""),
        )
    except SecondFactorNeeded as needed:
        return ask_second_factor(needed)
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect(back, status_code=303, cookies=[cookie], headers=NO_STORE_HEADER)


def _welcome_form(
    key: str, welcome: OneTimeLink, *, is_reset: bool, name: str = "", problem: str = ""
) -> Template:
    context = {
        "key": key,
        "welcome": welcome,
        "is_reset": is_reset,
        "name": name,
        "problem": problem,
    }
    return Template("pages/welcome.html", context=context, headers=NO_STORE_HEADER)
