"""Start, look up, list and end browser sessions."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotFound, Overtaken
from vskill_platform.model.user import Session, User
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.session_store import (
    delete_session,
    get_last_sign_in,
    get_session,
    get_session_digest,
    list_sessions,
    write_new_session,
    write_session,
)
from vskill_platform.stores.user_store import get_user

#: Resolution of a session's "last used" time.
_SEEN_EVERY = timedelta(minutes=10)
_MAX_BROWSER_LENGTH = 200
#: The first match is used.
_BROWSERS = {
    "Firefox/": "Firefox",
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    #: The value of the cookie.
    secret: str
    session: Session
    user: User


async def begin_session(
    user: User,
    *,
    address: str = "",
    browser: str = "",
    has_second_factor: bool = False,
    also: Callable[[Session], list[Operation]] = lambda _: [],
) -> OpenSession:
    """Start a session with a new secret, which prevents session fixation.

    *also* returns further operations for the same commit.
    """
    now = get_now()
    secret = new_secret()
    session = Session(
        id=digest_of(f"id of {secret}")[:16],
        user=user.name,
        epoch=user.epoch,
        created_at=now,
        expires_at=now + get_settings().session_lifetime,
        seen_at=now,
        address=address,
        browser=browser[:_MAX_BROWSER_LENGTH],
        has_second_factor=has_second_factor,
    )
    operations = [*write_new_session(digest_of(secret), session), *also(session)]
    if await commit(operations) is None:
        raise Overtaken("the session could not be started; try again")
    return OpenSession(secret=secret, session=session, user=user)


async def find_session(secret: str) -> OpenSession | None:
    """Return the session with this secret if it is valid, and update when it was last used."""
    digest = digest_of(secret)
    stored = await get_session(digest)
    if stored is None:
        return None
    session = stored.record
    user = await get_user(session.user)
    if user is None or user.record.is_disabled or user.record.epoch != session.epoch:
        return None
    now = get_now()
    if abs(now - session.seen_at) >= _SEEN_EVERY:
        session = msgspec.structs.replace(session, seen_at=now)
        # If this fails, another request has updated or ended the session; either is fine.
        await commit([write_session(digest, session, expected=stored.revision)])
    return OpenSession(secret=secret, session=session, user=user.record)


async def end_session(user_name: str, session_id: str) -> None:
    """End one session of a user; raise NotFound if it no longer exists."""
    digest = await get_session_digest(user_name, session_id)
    stored = await get_session(digest) if digest else None
    if digest is None or stored is None:
        raise NotFound("that session has already ended")
    await commit(delete_session(digest, stored.record))


async def mark_second_factor(
    user_name: str, session_id: str, *, ends_others: bool
) -> list[Operation]:
    """Return the operations that record a verified second factor in a session.

    With *ends_others* they also end all other sessions of the user, which began without one.
    """
    operations: list[Operation] = []
    for session in await list_sessions(user_name):
        digest = await get_session_digest(user_name, session.id)
        stored = await get_session(digest) if digest else None
        if digest is None or stored is None:
            continue
        if session.id == session_id:
            proved = msgspec.structs.replace(stored.record, has_second_factor=True)
            operations.append(write_session(digest, proved, expected=stored.revision))
        elif ends_others:
            operations += delete_session(digest, stored.record)
    return operations


async def find_last_sign_in(user_name: str) -> datetime | None:
    """Return when a user last signed in; None if that is unknown."""
    if recorded := await get_last_sign_in(user_name):
        return recorded
    # An older release recorded only sessions.
    return max((session.created_at for session in await list_sessions(user_name)), default=None)


async def list_open_sessions(user: User) -> list[Session]:
    """Return a user's valid sessions, most recently used first."""
    found = await list_sessions(user.name)
    good = [session for session in found if session.epoch == user.epoch]
    return sorted(good, key=lambda session: session.seen_at, reverse=True)


def browser_name(user_agent: str) -> str:
    """Shorten a User-Agent to something like `Firefox on Linux`; most also name other browsers."""
    program = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "")
    if not program:
        return user_agent[:40] or "unknown"
    return f"{program} on {system}" if system else program
