"""Sign-in with an OpenID Connect provider: redirect, callback, link and sign-out."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from litestar import Response
from litestar.response import Redirect, Template

from vskill_platform.access.oidc.accounts import unlink_account
from vskill_platform.access.oidc.logout import end_sessions_of_provider
from vskill_platform.access.oidc.sign_in import (
    Browser,
    ProviderRedirect,
    begin_oidc_login,
    finish_oidc_login,
)
from vskill_platform.access.sessions import end_session
from vskill_platform.access.sign_in import has_password
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import (
    Busy,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ProviderUnavailable,
    TooMany,
    VskillError,
)
from vskill_platform.model.user import User
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.rate_limits import address_key, limit_sign_ins
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import safe_path
from vskill_platform.web.http.visitor import (
    ended_oidc_cookie,
    oidc_cookie,
    oidc_secret_of,
    session_cookie,
    visitor_of,
)
from vskill_platform.web.people.account_page import Notes, show_account
from vskill_platform.web.people.confirm_identity import check_may_link, signed_in_user
from vskill_platform.web.sign_in.sign_in_page import leave_page, show_sign_in

log = get_logger(__name__)

#: Limited, because each sends a request to the provider, which may be slow.
_EXCHANGES = ConcurrencyQuota(
    in_all=50, each=5, what="sign-ins at the provider", retry_after=timedelta(seconds=5)
)
_LOGOUTS = ConcurrencyQuota(
    in_all=20, each=20, what="sign-outs by the provider", retry_after=timedelta(seconds=1)
)
_STATUS = {NotSignedIn: 401, NotAllowed: 403, ProviderUnavailable: 503, TooMany: 429, Busy: 503}


async def oidc_start(request: WebRequest) -> Response[Any]:
    """Send the browser to the provider."""
    back = safe_path(request.query_params.get("next", "/"))
    if visitor_of(request).via == "session":
        return Redirect(back, status_code=303)
    try:
        departure = await _leave(request, back)
    except (ProviderUnavailable, TooMany, Busy) as error:
        return _refused(back, error)
    cookie = oidc_cookie(departure.browser_secret, get_settings())
    return Redirect(departure.url, status_code=303, cookies=[cookie], headers=NO_STORE_HEADER)


async def oidc_callback(request: WebRequest) -> Response[Any]:
    """Sign in the user whom the provider sends back, or link the account."""
    visitor = visitor_of(request)
    client = Browser(
        secret=oidc_secret_of(request),
        user=visitor.user if visitor.via == "session" else None,
        address=visitor.address,
        name=request.headers.get("user-agent", ""),
    )
    try:
        with _EXCHANGES.held_by(address_key(visitor.address)):
            arrival = await finish_oidc_login(dict(request.query_params), client)
    except (ProviderUnavailable, NotSignedIn, NotAllowed, Busy) as error:
        log.warning("sign-in at the provider refused", reason=str(error), address=visitor.address)
        return _refused("/", error)
    settings = get_settings()
    cookies = [ended_oidc_cookie(settings)]
    if arrival.opened:
        await _end_previous(request)
        cookies.append(session_cookie(arrival.opened.secret, settings))
    return Redirect(
        safe_path(arrival.next), status_code=303, cookies=cookies, headers=NO_STORE_HEADER
    )


async def oidc_link_form(request: WebRequest) -> Response[Any]:
    """Link an account at the provider to the user's account, or unlink it."""
    user, fields = signed_in_user(request), await read_fields(request)
    try:
        if fields.get("act") == "unlink":
            await unlink_own_account(user)
            return Redirect("/account?done=oidc", status_code=303)
        await check_may_link(request, fields.get("password", ""))
        departure = await _leave(request, "/account?done=oidc", link_to=user.name)
    except (InvalidInput, NotAllowed, NotFound, ProviderUnavailable, TooMany, Busy) as error:
        return await show_account(request, Notes(problem=str(error)), status=400)
    cookie = oidc_cookie(departure.browser_secret, get_settings())
    return leave_page(departure.url, "Link your account", cookies=[cookie])


async def unlink_own_account(user: User) -> None:
    """Remove the user's link, unless it is the only way to sign in."""
    if not await has_password(user):
        raise NotAllowed("you have no password, so you could not sign in again; ask an admin")
    await unlink_account(user.name, actor=user.name)


async def back_channel_logout(request: WebRequest) -> Response[Any]:
    """End the sessions of a user who has signed out at the provider."""
    try:
        fields = await read_fields(request)
        with _LOGOUTS.held_by("provider"):
            await end_sessions_of_provider(fields.get("logout_token", ""))
    except (NotSignedIn, NotAllowed) as error:
        log.warning("logout token refused", reason=str(error))
        text = {"error": "invalid_request", "error_description": str(error)}
        return Response(text, status_code=400, headers=NO_STORE_HEADER)
    return Response(None, status_code=200, headers=NO_STORE_HEADER)


async def _leave(request: WebRequest, back: str, *, link_to: str = "") -> ProviderRedirect:
    key = address_key(visitor_of(request).address)
    await limit_sign_ins(request, "oidc", key)
    with _EXCHANGES.held_by(key):
        return await begin_oidc_login(back, link_to=link_to)


async def _end_previous(request: WebRequest) -> None:
    """End the earlier session of this browser, because no one could end it later."""
    visitor = visitor_of(request)
    if visitor.user and visitor.via == "session":
        with suppress(NotFound):  # it has already ended
            await end_session(visitor.user.name, visitor.credential)


def _refused(back: str, error: VskillError) -> Template:
    status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
    text = str(error)
    problem = f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
    if isinstance(error, ProviderUnavailable):
        problem = (
            f"{get_settings().oidc_name} does not work at the moment: {text}. Try again later."
        )
    answer = show_sign_in(back, problem=problem, status=status)
    answer.cookies.append(ended_oidc_cookie(get_settings()))
    return answer
