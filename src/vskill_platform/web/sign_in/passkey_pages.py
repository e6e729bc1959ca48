"""Passkeys in the browser: add and remove them, and sign in with one."""

from typing import Any
from urllib.parse import urlsplit

from litestar import Response
from litestar.response import Redirect

from vskill_platform.access.second_factor.passkeys import (
    RelyingParty,
    add_passkey,
    begin_passkey,
    begin_passkey_sign_in,
    remove_passkey,
    use_passkey,
)
from vskill_platform.access.second_factor.sign_in_step import end_step, find_step
from vskill_platform.access.sessions import begin_session
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn
from vskill_platform.setting_values import is_loopback
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import safe_path
from vskill_platform.web.http.visitor import (
    ended_step_cookie,
    session_cookie,
    step_secret_of,
    visitor_of,
)
from vskill_platform.web.people.confirm_identity import (
    check_strong_session,
    count_attempt,
    signed_in_user,
)
from vskill_platform.web.sign_in.second_factor_pages import ShownOnce, show_security
from vskill_platform.web.sign_in.sign_in_page import show_sign_in

log = get_logger(__name__)


async def passkey_options(request: WebRequest) -> Response[Any]:
    """Tell the browser how to create a passkey, given the password."""
    user, fields = signed_in_user(request), await read_fields(request)
    await count_attempt(request, user.name)
    try:
        await check_strong_session(request)
        party = _relying_party(request)
        options = await begin_passkey(user, fields.get("password", ""), party)
    except (InvalidInput, NotAllowed) as error:
        return _json({"problem": str(error)}, status=400)
    return _json(options)


async def passkey_form(request: WebRequest) -> Response[Any]:
    """Add or remove a passkey."""
    user, fields = signed_in_user(request), await read_fields(request)
    await count_attempt(request, user.name)
    try:
        await check_strong_session(request)
        if fields.get("act") == "remove":
            gone = await remove_passkey(user, fields.get("id", ""), fields.get("password", ""))
            return await show_security(request, ShownOnce(done=f"{gone.name} was removed."))
        party = _relying_party(request)
        codes = await add_passkey(
            user,
            fields.get("name", ""),
            fields.get("credential", ""),
            party,
            session_id=visitor_of(request).credential,
        )
    except (InvalidInput, NotAllowed, NotFound, NotSignedIn) as error:
        return await show_security(request, ShownOnce(problem=str(error)), status=400)
    shown = ShownOnce(done="The passkey was added.", recovery_codes=tuple(codes))
    return await show_security(request, shown)


async def passkey_sign_in_options(request: WebRequest) -> Response[Any]:
    """Tell the browser how to use a passkey; after a password, one of this user."""
    await count_attempt(request, "")
    try:
        party = _relying_party(request)
        options = await begin_passkey_sign_in(party, user_name=await _waiting_user(request))
    except NotAllowed as error:
        return _json({"problem": str(error)}, status=400)
    return _json(options)


async def passkey_sign_in_form(request: WebRequest) -> Response[Any]:
    """Start a session for the user of a passkey."""
    await count_attempt(request, "")
    fields, settings = await read_fields(request), get_settings()
    back, step = safe_path(fields.get("next", "/")), step_secret_of(request)
    address, browser = visitor_of(request).address, request.headers.get("user-agent", "")
    waiting = await _waiting_user(request)
    try:
        party = _relying_party(request)
        user = await use_passkey(fields.get("credential", ""), party, user_name=waiting)
        if waiting:
            opened, back = await end_step(step, address=address, browser=browser)
        else:
            opened = await begin_session(
                user, address=address, browser=browser, has_second_factor=True
            )
            log.info("signed in", name=user.name, address=address, via="passkey")
    except (NotSignedIn, NotAllowed) as error:
        return show_sign_in(back, problem=str(error), status=401)
    cookies = [session_cookie(opened.secret, settings), ended_step_cookie(settings)]
    return Redirect(safe_path(back), status_code=303, cookies=cookies, headers=NO_STORE_HEADER)


async def _waiting_user(request: WebRequest) -> str:
    """Return the user who has just entered a correct password in this browser; empty for none."""
    try:
        _, user = await find_step(step_secret_of(request))
    except NotSignedIn:
        return ""
    return user.name


def _relying_party(request: WebRequest) -> RelyingParty:
    """Return the host name of passkeys, which never comes from the request alone."""
    public = get_settings().public_url
    url = urlsplit(public or f"{request.url.scheme}://{request.headers.get('host', '')}")
    host = url.hostname or ""
    is_local_name = host == "localhost" or host.endswith(".localhost")
    is_safe = is_local_name if not public else url.scheme == "https" or is_local_name
    if not is_safe or (is_loopback(host) and not is_local_name):
        raise NotAllowed("passkeys need a registry with a host name and https (VSKILL_PUBLIC_URL)")
    return RelyingParty(id=host, origin=f"{url.scheme}://{url.netloc}")


def _json(content: Any, *, status: int = 200) -> Response[Any]:
    kind = "application/json"
    return Response(content, status_code=status, media_type=kind, headers=NO_STORE_HEADER)
