"""Sign in with name and password; unknown and known users get the same refusal.

web/http/rate_limits.py limits the attempts.
"""

import asyncio
from contextlib import suppress

import msgspec

from vskill_platform.access.passwords import digest_password, is_outdated, verify_password
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import Busy, NotSignedIn
from vskill_platform.model.user import User
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.user_store import Password, get_password, get_user, write_password

log = get_logger(__name__)

WRONG = "The name or the password is wrong."


async def check_sign_in(name: str, password: str, *, address: str = "") -> User:
    """Return the user with this name and password.

    Unknown users, disabled users and users without a password get the same refusal as a wrong
    password, after the same time.
    """
    user = await check_credentials(name, password)
    if user is None:
        log.warning("sign-in refused", name=name[:64], address=address)
        raise NotSignedIn(WRONG)
    return user


async def check_credentials(name: str, password: str) -> User | None:
    """Return the user with this name and password, or None after the same time."""
    name = name.strip().lower()
    user, kept = await asyncio.gather(get_user(name), get_password(name))
    is_right = await verify_password(kept.record.digest if kept else None, password)
    if not is_right or user is None or kept is None or user.record.is_disabled:
        return None
    if not may_use_password(user.record):
        return None
    await _renew(name, kept, password)
    return user.record


def may_use_password(user: User) -> bool:
    """Return whether the settings allow passwords, or this is a break-glass account."""
    return get_settings().password_sign_in or user.is_break_glass


async def has_password(user: User) -> bool:
    """Return whether this user can sign in with a password."""
    return may_use_password(user) and await get_password(user.name) is not None


async def _renew(name: str, kept: Stored[Password], password: str) -> None:
    """Hash the password again if the parameters have changed."""
    if not is_outdated(kept.record.digest):
        return
    with suppress(Busy):  # the next sign-in will try again
        renewed = msgspec.structs.replace(kept.record, digest=await digest_password(password))
        await commit([write_password(name, renewed, expected=kept.revision)])
        log.info("password hash updated", name=name, at=get_now().isoformat())
