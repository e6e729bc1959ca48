"""Email addresses of users: set them, confirm them by a link, and choose the topics of emails."""

from datetime import timedelta
from enum import StrEnum

import msgspec

from vskill_platform.access.one_time_links import (
    is_mail_on,
    mail_user_link,
    prepare_mailed_link,
)
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.sign_in import check_credentials, has_password
from vskill_platform.access.users import find_user, prepare_user
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import InvalidInput, LinkExpired
from vskill_platform.mail_settings import is_mail_address
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.user import Role, User
from vskill_platform.settings import Settings
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.event_feed import begin_feed
from vskill_platform.stores.mail_address_store import (
    AddressLink,
    MailAddress,
    delete_address_link,
    delete_mail_address,
    get_address_link,
    get_mail_address,
    list_users_with_address,
    write_address_link,
    write_mail_address,
)
from vskill_platform.stores.mail_store import new_mail, write_mail
from vskill_platform.stores.user_store import expect_not_deleted, get_user

#: How long a link to confirm an address is valid.
GOOD_FOR = timedelta(hours=24)
_GONE = "This link was already used or is older than 24 hours. Set the address again."


class MailTopic(StrEnum):
    """Topics that a user can choose for emails; emails about the account are always sent."""

    VERDICTS = "verdicts"
    REVIEWS = "reviews"


def checked_address(text: str) -> str:
    address = text.strip()
    if not is_mail_address(address):
        raise InvalidInput(
            "not an email address such as ada@example.org (letters a-z, no spaces or quotes)"
        )
    return address


async def set_mail_address(name: str, text: str, *, actor: str) -> MailAddress:
    """Set the address of a user, and email a link that confirms it, in one commit."""
    address = checked_address(text)

    async def plan() -> PlannedChange[MailAddress]:
        user = await find_user(name)
        stored = await get_mail_address(user.name)
        old = stored.record if stored else None
        if old and old.address == address and old.is_confirmed:
            return PlannedChange(result=old)
        new = MailAddress(
            user=user.name, address=address, changed_at=get_now(), muted=old.muted if old else ()
        )
        operations = [
            write_mail_address(new, expected=stored.revision if stored else ABSENT),
            expect_not_deleted(user.name),
            write_audit("user set-mail", user.name, actor=actor, reason="", outcome="changed"),
            *_notify_both(old, new, actor=actor),
        ]
        return PlannedChange(operations=operations, result=new)

    return await change(f"the email address of {name}", plan)


def prepare_mail_address(user: User, text: str) -> list[Operation]:
    """Return the operation that gives a new user an address, which the invitation confirms."""
    address = MailAddress(user=user.name, address=checked_address(text), changed_at=get_now())
    return [write_mail_address(address, expected=ABSENT)]


async def invite_by_mail(name: str, role: Role, text: str, *, actor: str) -> User:
    """Add a user and email the invitation, in one commit."""
    operations, user = await prepare_user(name, role, actor=actor)
    operations += prepare_mail_address(user, text)
    operations += await prepare_mailed_link(user, checked_address(text), actor=actor)
    if await commit(operations) is None:
        raise InvalidInput(f"the user {user.name!r} already exists")
    return user


async def change_own_address(user: User, text: str, *, password: str) -> MailAddress:
    """Change one's own address, given the password, so that a stolen session cannot reset it."""
    await _check_password(user, password)
    return await set_mail_address(user.name, text, actor=user.name)


async def remove_mail_address(name: str, *, actor: str) -> None:
    user = await find_user(name)

    async def plan() -> PlannedChange[None]:
        stored = await get_mail_address(user.name)
        if stored is None:
            return PlannedChange(result=None)
        audit = write_audit("user set-mail", user.name, actor=actor, reason="", outcome="removed")
        operations = [
            delete_mail_address(stored),
            audit,
            *_notify_old(stored.record, actor=actor, new=""),
        ]
        return PlannedChange(operations=operations, result=None)

    await change(f"the email address of {user.name}", plan)


async def remove_own_address(user: User, *, password: str) -> None:
    await _check_password(user, password)
    await remove_mail_address(user.name, actor=user.name)


async def choose_topics(name: str, wanted: set[MailTopic]) -> MailAddress:
    """Store the topics about which a user gets emails."""

    async def plan() -> PlannedChange[MailAddress]:
        stored = await get_mail_address(name)
        if stored is None:
            raise InvalidInput("set an email address first")
        muted = tuple(topic.value for topic in MailTopic if topic not in wanted)
        changed = msgspec.structs.replace(stored.record, muted=muted)
        operations = [write_mail_address(changed, expected=stored.revision)]
        return PlannedChange(operations=operations, result=changed)

    return await change(f"the email address of {name}", plan)


async def make_address_link(user_name: str, address: str) -> str | None:
    """Create the link in an email, when it is sent; None if it is no longer needed."""
    stored = await get_mail_address(user_name)
    if stored is None or stored.record.address != address or stored.record.is_confirmed:
        return None
    key = new_secret()
    link = AddressLink(user=user_name, address=address, expires_at=get_now() + GOOD_FOR)
    await commit([write_address_link(digest_of(key), link)])
    return confirm_url(get_settings(), key)


async def read_address_link(key: str) -> AddressLink:
    """Return what a link confirms, without using it."""
    stored = await get_address_link(digest_of(key))
    if stored is None:
        raise LinkExpired(_GONE)
    return stored.record


async def confirm_address(key: str) -> MailAddress:
    """Use a link: the user's address is confirmed, if it is still the same."""
    digest = digest_of(key)

    async def plan() -> PlannedChange[MailAddress]:
        link = await get_address_link(digest)
        stored = await get_mail_address(link.record.user) if link else None
        if link is None or stored is None or stored.record.address != link.record.address:
            raise LinkExpired(_GONE)
        confirmed = msgspec.structs.replace(stored.record, is_confirmed=True)
        operations = [
            delete_address_link(digest, link),
            *await begin_feed(),
            write_mail_address(confirmed, expected=stored.revision),
            write_audit("user confirm-mail", confirmed.user, actor=confirmed.user, reason=""),
        ]
        return PlannedChange(operations=operations, result=confirmed)

    return await change("an email address", plan)


async def request_reset_link(text: str) -> None:
    """Email a reset link to a user, found by name or address; without one, nothing happens.

    The caller shows the same message in both cases, so that no one learns who has an account.
    """
    text = text.strip()
    names = await list_users_with_address(text) if "@" in text else [text.lower()]
    for name in names:
        user, address = await get_user(name), await get_mail_address(name)
        if user is None or user.record.is_disabled or address is None:
            continue
        if address.record.is_confirmed and await has_password(user.record):
            await mail_user_link(name, actor=name)


def confirm_url(settings: Settings, key: str) -> str:
    return f"{base_url(settings)}/confirm-address?key={key}"


async def _check_password(user: User, password: str) -> None:
    # Users who sign in at a provider have no password.
    if await has_password(user) and await check_credentials(user.name, password) is None:
        raise InvalidInput("the current password is wrong")


def _notify_both(old: MailAddress | None, new: MailAddress, *, actor: str) -> list[Operation]:
    if not is_mail_on():
        return []
    confirm = write_mail(new_mail("confirm_address", new.address, user=new.user))
    return [confirm, *_notify_old(old, actor=actor, new=new.address)]


def _notify_old(old: MailAddress | None, *, actor: str, new: str) -> list[Operation]:
    """Notify the old address, in case someone else made the change."""
    if old is None or not old.is_confirmed or old.address == new or not is_mail_on():
        return []
    fields = {"by": actor, "new": new}
    return [write_mail(new_mail("address_changed", old.address, user=old.user, fields=fields))]
