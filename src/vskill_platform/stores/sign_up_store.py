"""Links with which somebody creates an account, under the digest of their secret."""

from datetime import datetime

from vskill_platform.engines.ports import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record

_LINK = "sign-up-link:"


class SignUpLink(Record, frozen=True, kw_only=True):
    #: The address to which it was mailed.
    address: str
    expires_at: datetime


async def get_sign_up_link(digest: str) -> Stored[SignUpLink] | None:
    return await get_record(_LINK + digest, SignUpLink)


def write_sign_up_link(digest: str, link: SignUpLink) -> Operation:
    return Put(_LINK + digest, encode(link), expected=ABSENT, due=NEVER, expires_at=link.expires_at)


def delete_sign_up_link(digest: str, stored: Stored[SignUpLink]) -> Operation:
    """Use a link up; the commit fails if it was used meanwhile."""
    return Delete(_LINK + digest, expected=stored.revision)
