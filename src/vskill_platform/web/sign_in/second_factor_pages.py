"""The second step of a sign-in, and the page where users set up their second factor."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import segno
from litestar import Response
from litestar.response import Redirect, Template
from markupsafe import Markup

from vskill_platform.access.second_factor.factors import (
    begin_totp,
    confirm_totp,
    remove_second_factor,
    renew_recovery_codes,
)
from vskill_platform.access.second_factor.sign_in_step import find_step, finish_step
from vskill_platform.access.second_factor.totp import totp_uri
from vskill_platform.access.sign_in import has_password
from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn, TooMany
from vskill_platform.model.user import User
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.passkey_store import list_passkeys
from vskill_platform.stores.second_factor_store import get_second_factor
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import SIGN_IN, safe_path
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
from vskill_platform.web.sign_in.sign_in_page import show_sign_in

_HERE = "/account/security"
_DONE = {"removed": "The second factor was removed."}


class ShownOnce(msgspec.Struct, frozen=True, kw_only=True):
    """The secrets that the page shows once."""

    done: str = ""
    problem: str = ""
    #: The secret of a new app, to be confirmed.
    new_secret: str = ""
    recovery_codes: tuple[str, ...] = ()


async def second_step_page(request: WebRequest) -> Response[Any]:
    try:
        step, user = await find_step(step_secret_of(request))
    except NotSignedIn:
        return Redirect(SIGN_IN, status_code=303)
    return await _step_form(user.name, safe_path(step.next))


async def second_step_form(request: WebRequest) -> Response[Any]:
    """Check the code and start the session; attempts count like those with a password."""
    fields, secret = await read_fields(request), step_secret_of(request)
    settings, user_name = get_settings(), ""
    try:
        _, user = await find_step(secret)
        user_name = user.name
        await count_attempt(request, user_name)
        opened, back = await finish_step(
            secret,
            fields.get("code", ""),
            address=visitor_of(request).address,
            browser=request.headers.get("user-agent", ""),
        )
    except TooMany as error:
        wait = int(error.retry_after.total_seconds()) if error.retry_after else 60
        words = f"Too many attempts. Try again in {count_of(wait, 'second')}."
        return await _step_form(user_name, "/", problem=words, status=429)
    except NotSignedIn as error:
        return await _step_refused(secret, error)
    cookies = [session_cookie(opened.secret, settings), ended_step_cookie(settings)]
    return Redirect(safe_path(back), status_code=303, cookies=cookies, headers=NO_STORE_HEADER)


async def _step_refused(secret: str, error: NotSignedIn) -> Template:
    try:
        step, user = await find_step(secret)
    except NotSignedIn as over:
        answer = show_sign_in("/", problem=str(over), status=401)
        answer.cookies.append(ended_step_cookie(get_settings()))
        return answer
    return await _step_form(user.name, step.next, problem=str(error), status=401)


async def _step_form(name: str, back: str, *, problem: str = "", status: int = 200) -> Template:
    factor = await get_second_factor(name)
    context = {
        "name": name,
        "next": back,
        "problem": problem,
        "has_app": factor is not None and bool(factor.record.totp_secret),
        "has_passkeys": bool(await list_passkeys(name)),
    }
    return Template(
        "pages/second_step.html", context=context, status_code=status, headers=NO_STORE_HEADER
    )


async def security_page(request: WebRequest) -> Template:
    done = _DONE.get(request.query_params.get("done", ""), "")
    return await show_security(request, ShownOnce(done=done))


async def security_form(request: WebRequest) -> Response[Any]:
    """Set up, confirm or remove the second factor, or replace the recovery codes."""
    user, fields = signed_in_user(request), await read_fields(request)
    actions: dict[str, Callable[[], Awaitable[Response[Any]]]] = {
        "begin": lambda: _begin(request, user, fields),
        "confirm": lambda: _confirm(request, user, fields),
        "recovery": lambda: _renew(request, user, fields),
        "remove": lambda: _remove(user, fields),
    }
    action = actions.get(fields.get("act", ""))
    if action is None:
        raise InvalidInput("unknown action")
    await count_attempt(request, user.name)
    try:
        return await action()
    except (InvalidInput, NotAllowed, NotFound) as error:
        return await show_security(request, ShownOnce(problem=str(error)), status=400)


async def _begin(request: WebRequest, user: User, fields: dict[str, str]) -> Template:
    await check_strong_session(request)
    secret = await begin_totp(user, fields.get("password", ""))
    return await show_security(request, ShownOnce(new_secret=secret))


async def _confirm(request: WebRequest, user: User, fields: dict[str, str]) -> Template:
    """Turn it on; this session then counts as one with a second factor."""
    await check_strong_session(request)
    session_id = visitor_of(request).credential
    codes = await confirm_totp(user, fields.get("code", ""), session_id=session_id)
    done = "The second factor is on. You need a code at the next sign-in."
    return await show_security(request, ShownOnce(done=done, recovery_codes=tuple(codes)))


async def _renew(request: WebRequest, user: User, fields: dict[str, str]) -> Template:
    codes = await renew_recovery_codes(user, fields.get("code", ""))
    done = "The old recovery codes no longer work."
    return await show_security(request, ShownOnce(done=done, recovery_codes=tuple(codes)))


async def _remove(user: User, fields: dict[str, str]) -> Redirect:
    await remove_second_factor(user, fields.get("code", ""))
    return Redirect(f"{_HERE}?done=removed", status_code=303)


async def show_security(request: WebRequest, shown: ShownOnce, *, status: int = 200) -> Template:
    user, factor = signed_in_user(request), None
    if stored := await get_second_factor(user.name):
        factor = stored.record
    context = {
        "user": user,
        "shown": shown,
        "factor": factor,
        "has_password": await has_password(user),
        "passkeys": await list_passkeys(user.name),
        "needs_second_factor": visitor_of(request).needs_second_factor and factor is None,
        "signs_in_weakly": visitor_of(request).needs_second_factor and factor is not None,
        "qr": _qr_code(shown.new_secret, user.name, request) if shown.new_secret else "",
        "section": "account",
    }
    return Template(
        "pages/security.html", context=context, status_code=status, headers=NO_STORE_HEADER
    )


def _qr_code(secret: str, user_name: str, request: WebRequest) -> Markup:
    """Draw the code on the server, so that no one else gets the secret."""
    uri = totp_uri(secret, user=user_name, registry=request.url.hostname or "vskill-platform")
    drawn = segno.make(uri, error="m", micro=False)
    return Markup(drawn.svg_inline(scale=4, border=4, dark="#000", light="#fff"))  # noqa: S704 - ours
