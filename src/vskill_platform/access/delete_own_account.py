"""Delete one's own account: check how the user has to confirm it, and that it was confirmed.

A stolen session or token is not enough: the password is required and, if there is one, the second
factor. Users without a password must have signed in shortly before, at their provider.
"""

from datetime import timedelta

import msgspec

from vskill_platform.access.delete_account import AccountDeletion, delete_account
from vskill_platform.access.second_factor.factors import use_code
from vskill_platform.access.sign_in import check_credentials, has_password
from vskill_platform.access.users import keep_an_admin
from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotAllowed
from vskill_platform.model.rights import Visitor
from vskill_platform.model.user import User
from vskill_platform.stores.db import get_now
from vskill_platform.stores.second_factor_store import get_second_factor
from vskill_platform.stores.session_store import list_sessions
from vskill_platform.stores.user_store import get_user

#: How recently a user without a password must have signed in.
RECENT = timedelta(minutes=10)


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """What a user has to send in addition to the name."""

    password: bool
    #: A code of the authenticator app, or a recovery code.
    code: bool
    #: Why the account cannot be deleted this way; None if it can.
    refused: str | None = None


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    #: The name of the account.
    confirm: str
    password: str = ""
    code: str = ""


async def what_confirms(user: User, visitor: Visitor) -> Needed:
    """Return what this user has to send to delete the account, which depends on the sign-in."""
    needs_code = not visitor.has_second_factor and await get_second_factor(user.name) is not None
    needs_password = await has_password(user)
    refused = await _why_not_removed(user)
    if refused is None and not needs_password and not await _is_recent(user, visitor):
        refused = (
            "your account has no password: sign in again in the browser and delete it within "
            f"{count_of(RECENT // timedelta(minutes=1), 'minute')}, or ask an admin"
        )
    return Needed(password=needs_password, code=needs_code, refused=refused)


async def _why_not_removed(user: User) -> str | None:
    """Return why the registry cannot do without this user; None if it can."""
    stored = await get_user(user.name)
    if stored is None:
        return None
    try:
        await keep_an_admin(stored, msgspec.structs.replace(stored.record, is_disabled=True))
    except NotAllowed as error:
        return str(error)
    return None


async def delete_own_account(user: User, visitor: Visitor, given: Confirmation) -> AccountDeletion:
    """Delete the account of *user*, who has signed in as this visitor."""
    if given.confirm.strip() != user.name:
        raise InvalidInput(f"to confirm, type {user.name}")
    needed = await what_confirms(user, visitor)
    if needed.refused:
        raise NotAllowed(needed.refused)
    if needed.password and await check_credentials(user.name, given.password) is None:
        raise InvalidInput("the password is wrong")
    if needed.code:
        await use_code(user.name, given.code)
    return await delete_account(user.name, actor=user.name, reason="own choice")


async def _is_recent(user: User, visitor: Visitor) -> bool:
    if visitor.via != "session":
        return False
    since = get_now() - RECENT
    return any(
        one.id == visitor.credential and one.created_at > since
        for one in await list_sessions(user.name)
    )
