"""Links that create an account, stored under the digest of their secret."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, encode, get_record

_LINK = "sign-up-link:"
#: Addresses with a new account, while other links to them may still be valid.
_USED = "sign-up-used:"


class SignUpLink(Record, frozen=True, kw_only=True):
    #: The address to which it was mailed.
    address: str
    expires_at: datetime


async def get_sign_up_link(digest: str) -> Stored[SignUpLink] | None:
    return await get_record(_LINK + digest, SignUpLink)


def write_sign_up_link(digest: str, link: SignUpLink) -> Operation:
    return Put(_LINK + digest, encode(link), expected=ABSENT, due=NEVER, expires_at=link.expires_at)


async def get_sign_up_mark(address: str) -> int:
    """Return the revision of the mark that every new account with this address writes."""
    entry = await get_kv().get(_USED + address.casefold())
    return entry.revision if entry else ABSENT


def write_sign_up_mark(address: str, *, expected: int, expires_at: datetime) -> Operation:
    """Make a commit fail if another link to this address was used meanwhile."""
    key = _USED + address.casefold()
    return Put(key, b"", expected=expected, due=NEVER, expires_at=expires_at)


def delete_sign_up_link(digest: str, stored: Stored[SignUpLink]) -> Operation:
    """Mark a link as used by deleting it; the commit fails if it was already used."""
    return Delete(_LINK + digest, expected=stored.revision)
