"""Confirm the user's identity before an account changes: session, password, second factor."""

from vskill_platform.access.sign_in import check_credentials, has_password
from vskill_platform.errors import InvalidInput, NotAllowed, NotSignedIn
from vskill_platform.model.user import User
from vskill_platform.stores.second_factor_store import get_second_factor
from vskill_platform.web.http.rate_limits import address_key, limit_sign_ins
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of


def signed_in_user(request: WebRequest) -> User:
    user = visitor_of(request).user
    if user is None:  # the guard has checked this
        raise NotSignedIn("sign in first")
    return user


def confirmed_password(fields: dict[str, str]) -> str:
    password = fields.get("password", "")
    if password != fields.get("password_again", ""):
        raise InvalidInput("the passwords do not match")
    return password


async def count_attempt(request: WebRequest, name: str) -> None:
    """Count an attempt for the address and for the name, before the password is checked."""
    await limit_sign_ins(request, "sign-in", address_key(visitor_of(request).address))
    if name:
        await limit_sign_ins(request, "sign-in", f"name {name.strip().lower()}")


async def check_strong_session(request: WebRequest) -> None:
    """Raise if the user has a second factor and this session began without it.

    Otherwise an attacker with an old session and the password could replace the second factor.
    """
    visitor = visitor_of(request)
    if not visitor.has_second_factor and await get_second_factor(signed_in_user(request).name):
        raise NotAllowed("sign out, and sign in again with your second factor first")


def check_no_factor_missing(request: WebRequest) -> None:
    """Raise if the role needs a second factor, because a token would have all its rights."""
    if visitor_of(request).needs_second_factor:
        raise NotAllowed("sign in with a second factor first: your role needs one here")


async def check_may_link(request: WebRequest, password: str) -> None:
    """Raise unless the user proves their identity before linking an account elsewhere.

    Such a link is a way to sign in, or to get tokens, that outlives a stolen session.
    """
    await check_strong_session(request)
    user = signed_in_user(request)
    if not await has_password(user):
        return
    await count_attempt(request, user.name)
    if await check_credentials(user.name, password) is None:
        raise InvalidInput("the current password is wrong")
