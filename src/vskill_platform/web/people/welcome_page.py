"""Where a link leads that is good once: an admin is made, or a password chosen."""

from typing import Any

from litestar import Request, Response
from litestar.response import Redirect, Template

from vskill_platform.access.first_admin import forget_link
from vskill_platform.access.one_time_links import accept_welcome, look_at_welcome
from vskill_platform.access.sessions import begin_session
from vskill_platform.errors import InvalidInput
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.one_time_link_store import Welcome
from vskill_platform.web.http.cookies import session_cookie
from vskill_platform.web.http.forms import read_fields
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.sign_in_page import NOT_KEPT, count_try


async def welcome_page(request: Request[Any, Any, Any]) -> Template:
    """Show what the link is good for; looking does not use it up."""
    key = request.query_params.get("key", "")
    return _form(key, await look_at_welcome(key))


async def welcome_form(request: Request[Any, Any, Any]) -> Response[Any]:
    """Use the link up and begin a session."""
    count_try(request, "")
    fields = await read_fields(request)
    key, name = fields.get("key", ""), fields.get("name", "")
    welcome = await look_at_welcome(key)
    try:
        password = twice_the_same(fields)
        user = await accept_welcome(key, name=name, password=password)
    except InvalidInput as error:
        return _form(key, welcome, name=name, problem=str(error), status=400)
    if welcome.user is None:
        await forget_link(get_settings())
    opened = await begin_session(
        user,
        address=visitor_of(request).address,
        browser=request.headers.get("user-agent", ""),
    )
    cookie = session_cookie(opened.secret, get_settings())
    return Redirect("/account?done=welcome", status_code=303, cookies=[cookie], headers=NOT_KEPT)


def twice_the_same(fields: dict[str, str]) -> str:
    password = fields.get("password", "")
    if password != fields.get("password_again", ""):
        raise InvalidInput("the two passwords are not the same")
    return password


def _form(
    key: str, welcome: Welcome, *, name: str = "", problem: str = "", status: int = 200
) -> Template:
    context = {"key": key, "welcome": welcome, "name": name, "problem": problem}
    return Template("pages/welcome.html", context=context, status_code=status, headers=NOT_KEPT)
