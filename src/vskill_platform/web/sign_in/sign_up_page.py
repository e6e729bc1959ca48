"""Sign-up: ask for a link by email, and create an account with it."""

from datetime import timedelta
from typing import Any

from litestar import Response
from litestar.response import Redirect, Template

from vskill_platform.access.sessions import begin_session
from vskill_platform.access.sign_up import (
    is_sign_up_open,
    read_sign_up_link,
    request_account,
    sign_up,
)
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.rate_limit_store import RateQuota, take_shared
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import session_cookie, visitor_of
from vskill_platform.web.people.confirm_identity import confirmed_password, count_attempt

#: Limited, because each sends an email to an address that someone typed.
_PER_HOUR = RateQuota(5, timedelta(hours=1), "requests of this kind an hour")
_MAX_TEXT = 254


async def sign_up_page() -> Template:
    _check_open()
    return _show({})


async def sign_up_form(request: WebRequest) -> Template:
    """Email a link; the response is the same whether the address has an account or not."""
    _check_open()
    address = (await read_fields(request)).get("address", "").strip()[:_MAX_TEXT]
    await count_attempt(request, "")
    await take_shared("sign-up", address.lower(), _PER_HOUR)
    try:
        await request_account(address)
    except InvalidInput as error:
        return _show({"problem": str(error), "address": address}, status=400)
    return _show({"is_sent": True})


async def sign_up_confirm_page(request: WebRequest) -> Template:
    """Show the form, without using the link, because mail programs follow links."""
    _check_open()
    key = request.query_params.get("key", "")
    return _show({"key": key, "sign_up_link": await read_sign_up_link(key)})


async def sign_up_confirm_form(request: WebRequest) -> Response[Any]:
    """Create the account and start a session."""
    _check_open()
    await count_attempt(request, "")
    fields = await read_fields(request)
    key, name = fields.get("key", ""), fields.get("name", "")
    link = await read_sign_up_link(key)
    try:
        user = await sign_up(key, name=name, password=confirmed_password(fields))
    except InvalidInput as error:
        context = {"key": key, "sign_up_link": link, "name": name, "problem": str(error)}
        return _show(context, status=400)
    opened = await begin_session(
        user,
        address=visitor_of(request).address,
        browser=request.headers.get("user-agent", ""),
    )
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect(
        "/account?done=welcome", status_code=303, cookies=[cookie], headers=NO_STORE_HEADER
    )


def _check_open() -> None:
    if not is_sign_up_open():
        raise NotFound("this registry has no sign-up; ask an admin for an invitation")


def _show(context: dict[str, Any], *, status: int = 200) -> Template:
    empty = {
        "problem": "",
        "address": "",
        "is_sent": False,
        "key": "",
        "sign_up_link": None,
        "name": "",
    }
    return Template(
        "pages/sign_up.html",
        context={**empty, **context},
        status_code=status,
        headers=NO_STORE_HEADER,
    )
