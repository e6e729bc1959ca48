"""The email address of each user, and the links that confirm one."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.mail_settings import mail_server
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv, get_settings
from vskill_platform.stores.mail_store import new_mail, write_mail
from vskill_platform.stores.records import Stored, encode, get_all, get_record

#: Separate from the user's record, which appears in pages and responses.
_ADDRESS = "mail-address:"
_MARK = "mail-address "
#: Contains only confirmed addresses: anyone can enter an address, so it can be unconfirmed for many
#: users.
_CONFIRMED = "confirmed-mail-address "
_LINK = "address-link:"
#: Further users with the same address are not looked up.
_MAX_SHARED = 20


class MailAddress(Record, frozen=True, kw_only=True):
    user: str
    address: str
    #: Whether a link that was sent to it was used.
    is_confirmed: bool = False
    changed_at: datetime
    #: Topics about which the user wants no emails.
    muted: tuple[str, ...] = ()


class AddressLink(Record, frozen=True, kw_only=True):
    """A link that confirms that a user can read the emails to an address."""

    user: str
    address: str
    expires_at: datetime


async def get_mail_address(user_name: str) -> Stored[MailAddress] | None:
    return await get_record(_ADDRESS + user_name, MailAddress)


async def get_mail_addresses(user_names: list[str]) -> dict[str, MailAddress]:
    """Return the addresses of the users who have one."""
    found = await get_all([_ADDRESS + name for name in user_names], MailAddress)
    return {one.record.user: one.record for one in found if one}


async def list_users_with_address(address: str) -> list[str]:
    """Return the names of users with this address; those who have confirmed it come first.

    Addresses confirmed by an earlier release are among the others.
    """
    words = [mark + address.casefold() for mark in (_CONFIRMED, _MARK)]
    confirmed, all_found = await get_kv().find_marked(words, limit=_MAX_SHARED)
    return [key.removeprefix(_ADDRESS) for key in dict.fromkeys([*confirmed, *all_found])]


def write_mail_address(address: MailAddress, *, expected: int) -> Operation:
    marks = (_MARK, _CONFIRMED) if address.is_confirmed else (_MARK,)
    return Put(
        _ADDRESS + address.user,
        encode(address),
        expected=expected,
        due=NEVER,
        marks=tuple(mark + address.address.casefold() for mark in marks),
    )


def delete_mail_address(stored: Stored[MailAddress]) -> Operation:
    return Delete(_ADDRESS + stored.record.user, expected=stored.revision)


async def get_address_link(digest: str) -> Stored[AddressLink] | None:
    return await get_record(_LINK + digest, AddressLink)


def write_address_link(digest: str, link: AddressLink) -> Operation:
    return Put(_LINK + digest, encode(link), expected=ABSENT, due=NEVER, expires_at=link.expires_at)


def delete_address_link(digest: str, stored: Stored[AddressLink]) -> Operation:
    return Delete(_LINK + digest, expected=stored.revision)


async def mail_to_user(kind: str, user_name: str, fields: dict[str, str]) -> list[Operation]:
    """Return the email to a user; none if email is off or the user has no confirmed address."""
    stored = await get_mail_address(user_name)
    if mail_server(get_settings()) is None or stored is None or not stored.record.is_confirmed:
        return []
    return [write_mail(new_mail(kind, stored.record.address, user=user_name, fields=fields))]
