"""Create and redeem one-time links: for a new admin, and for users who set a password."""

from datetime import datetime, timedelta

import msgspec

from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.sign_in import may_use_password
from vskill_platform.access.users import find_user, has_admin, prepare_password, prepare_user
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, LinkExpired, NotAllowed, NotFound
from vskill_platform.mail_settings import mail_server
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.user import Role, User, checked_user_name
from vskill_platform.settings import Settings
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.event_feed import begin_feed
from vskill_platform.stores.mail_address_store import get_mail_address, write_mail_address
from vskill_platform.stores.mail_store import new_mail, write_mail
from vskill_platform.stores.one_time_link_store import (
    OneTimeLink,
    delete_one_time_link,
    delete_one_time_links_for,
    get_one_time_link,
    write_one_time_link,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.user_store import (
    expect_not_deleted,
    get_password,
    get_user,
    write_user,
)

#: How long a link is valid.
GOOD_FOR = timedelta(hours=24)
_GONE = "This link was already used or is older than 24 hours. Ask for a new one."


async def invite_admin(*, actor: str, is_first: bool = False) -> str:
    """Create a link that creates an admin; with *is_first* it is invalid once there is one."""
    return await _make(OneTimeLink(user=None, is_first=is_first, expires_at=_end(), by=actor), [])


async def invite_user(name: str, *, actor: str) -> str:
    """Create a link to set a user's password; it revokes earlier ones."""
    user = await find_user(name)
    link = OneTimeLink(user=user.name, expires_at=_end(), by=actor)
    audit = write_audit("user invite", user.name, actor=actor, reason="")
    return await _make(link, [*await delete_one_time_links_for(user.name), audit])


def is_mail_on() -> bool:
    return mail_server(get_settings()) is not None


async def mail_user_link(name: str, *, actor: str) -> str:
    """Email a user a link to set a password; it revokes earlier ones. Return the address.

    The link is created when the email is sent.
    """
    user = await find_user(name)
    address = await get_mail_address(user.name)
    if address is None:
        raise InvalidInput(f"{user.name} has no email address")
    operations = await prepare_mailed_link(user, address.record.address, actor=actor)
    await commit([*await delete_one_time_links_for(user.name), *operations])
    return address.record.address


async def prepare_mailed_link(user: User, address: str, *, actor: str) -> list[Operation]:
    """Return the operations that email a link to set a password to a new or existing user."""
    if not is_mail_on():
        raise InvalidInput("this registry sends no email; use a link")
    has_password = await get_password(user.name) is not None
    kind = "password_reset" if has_password else "invitation"
    fields = {"by": actor, "role": user.role.value}
    return [
        write_mail(new_mail(kind, address, user=user.name, fields=fields)),
        # Without the address: audit records outlive a deleted account.
        write_audit("user invite", user.name, actor=actor, reason="", outcome="emailed"),
    ]


async def make_mailed_link(user_name: str, address: str, *, by: str) -> str:
    """Create the link when an email is sent; keep earlier links, because emails may be resent."""
    link = OneTimeLink(user=user_name, expires_at=_end(), by=by, mailed_to=address)
    return await _make(link, [])


async def read_one_time_link(key: str) -> OneTimeLink:
    """Return what a link allows, without using it."""
    return (await _find(key)).record


async def is_reset_link(link: OneTimeLink) -> bool:
    """Return whether a link replaces a password, and is not an invitation."""
    return link.user is not None and await get_password(link.user) is not None


async def use_one_time_link(key: str, *, name: str, password: str) -> User:
    """Redeem a link: create an admin or set a user's password, in one commit."""
    stored = await _find(key)
    link = stored.record
    operations, user = (
        await _new_admin(name, password, link)
        if link.user is None
        else await _new_password(link.user, password)
    )
    used = [
        delete_one_time_link(digest_of(key), stored),
        *await delete_one_time_links_for(link.user),
    ]
    confirmed = await _confirm_mailed(link)
    if await commit([*used, *operations, *confirmed]) is None:
        await _find(key)  # raises if the link was used in the meantime
        raise InvalidInput(f"the name {user.name!r} is taken; choose another")
    return user


async def _new_admin(name: str, password: str, link: OneTimeLink) -> tuple[list[Operation], User]:
    checked = checked_user_name(name)
    if await get_user(checked):
        raise InvalidInput(f"the name {checked!r} is taken; choose another")
    reason = "first admin" if link.is_first else f"link created by {link.by}"
    operations, user = await prepare_user(
        checked, Role.ADMIN, actor=checked, password=password, reason=reason,
        is_break_glass=not get_settings().password_sign_in,
    )  # fmt: skip
    return operations, user


async def _new_password(name: str, password: str) -> tuple[list[Operation], User]:
    stored = await get_user(name)
    if stored is None or stored.record.is_disabled:
        raise NotAllowed("This account is disabled.")
    if not may_use_password(stored.record):
        raise NotAllowed("Passwords are turned off here. Use single sign-on on the sign-in page.")
    user = msgspec.structs.replace(stored.record, epoch=stored.record.epoch + 1)
    audit = write_audit(
        "user set-password", name, actor=name, reason="by link", outcome="signed out everywhere"
    )
    operations = [
        write_user(user, expected=stored.revision),
        await prepare_password(name, password),
        audit,
    ]
    return operations, user


async def _confirm_mailed(link: OneTimeLink) -> list[Operation]:
    """Return the operation that confirms the address to which the link was sent."""
    stored = await get_mail_address(link.user) if link.user and link.mailed_to else None
    if stored is None or stored.record.address != link.mailed_to or stored.record.is_confirmed:
        return []
    confirmed = msgspec.structs.replace(stored.record, is_confirmed=True)
    return [write_mail_address(confirmed, expected=stored.revision), *await begin_feed()]


async def _find(key: str) -> Stored[OneTimeLink]:
    stored = await get_one_time_link(digest_of(key))
    if stored is None or (stored.record.is_first and await has_admin()):
        raise LinkExpired(_GONE)
    if stored.record.user and stored.record.mailed_to:
        address = await get_mail_address(stored.record.user)
        if address is None or address.record.address != stored.record.mailed_to:
            raise LinkExpired(_GONE)  # the mailbox no longer belongs to the account
    return stored


async def _make(link: OneTimeLink, more: list[Operation]) -> str:
    key = new_secret()
    kept = [expect_not_deleted(link.user)] if link.user else []
    if await commit([*more, write_one_time_link(digest_of(key), link), *kept]) is None:
        raise NotFound(f"the account {link.user} has just been deleted")
    return welcome_url(get_settings(), key)


def welcome_url(settings: Settings, key: str) -> str:
    return f"{base_url(settings)}/welcome?key={key}"


def _end() -> datetime:
    return get_now() + GOOD_FOR
