"""Browser sessions over the API: users list and end their own, admins those of every user."""

from datetime import datetime

from litestar.params import FromPath

from vskill_platform.access.sessions import browser_name, end_session, list_open_sessions
from vskill_platform.access.users import find_user, sign_out_everywhere
from vskill_platform.model.user import User
from vskill_platform.web.http.api_types import Ok, Shape
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.people.confirm_identity import signed_in_user


class SessionItem(Shape, frozen=True, kw_only=True):
    id: str
    created_at: datetime
    #: Accurate to ten minutes.
    last_used_at: datetime
    expires_at: datetime
    address: str
    #: The browser of the sign-in, such as `Firefox on Linux`.
    browser: str
    #: Whether the request was sent in this session.
    is_current: bool


class SessionList(Shape, frozen=True, kw_only=True):
    user: str
    sessions: list[SessionItem]


async def list_own(request: WebRequest) -> SessionList:
    """List your browser sessions, the most recently used first."""
    visitor = visitor_of(request)
    current = visitor.credential if visitor.via == "session" else ""
    return await _list(signed_in_user(request), current=current)


async def end_own(request: WebRequest, session_id: FromPath[str]) -> Ok:
    """End one of your sessions."""
    await end_session(signed_in_user(request).name, session_id)
    return Ok()


async def end_all_own(request: WebRequest) -> Ok:
    """End all your sessions. Tokens stay valid."""
    name = signed_in_user(request).name
    await sign_out_everywhere(name, actor=name)
    return Ok()


async def list_of_user(name: FromPath[str]) -> SessionList:
    """List the browser sessions of a user."""
    return await _list(await find_user(name), current="")


async def end_all_of_user(request: WebRequest, name: FromPath[str]) -> Ok:
    """End all sessions of a user, and revoke the user's password links. Tokens stay valid."""
    await sign_out_everywhere(name, actor=visitor_of(request).name)
    return Ok()


async def _list(user: User, *, current: str) -> SessionList:
    sessions = [
        SessionItem(
            id=one.id,
            created_at=one.created_at,
            last_used_at=one.seen_at,
            expires_at=one.expires_at,
            address=one.address,
            browser=browser_name(one.browser),
            is_current=one.id == current,
        )
        for one in await list_open_sessions(user)
    ]
    return SessionList(user=user.name, sessions=sessions)
