"""One-time links, stored under the digest of their secret, so a database leak exposes none."""

from datetime import datetime

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_WELCOME = "welcome:"


class OneTimeLink(Record, frozen=True, kw_only=True):
    """What the link allows."""

    #: The user whose password it sets; None if it creates an admin.
    user: str | None
    #: Whether it is valid only while there is no admin.
    is_first: bool = False
    expires_at: datetime
    #: Who created it.
    by: str
    #: The address to which it was sent, and which its use confirms; empty if it was shown.
    mailed_to: str = ""


async def get_one_time_link(digest: str) -> Stored[OneTimeLink] | None:
    return await get_record(_WELCOME + digest, OneTimeLink)


def write_one_time_link(digest: str, link: OneTimeLink) -> Operation:
    return Put(
        _WELCOME + digest,
        encode(link),
        expected=ABSENT,
        due=NEVER,
        expires_at=link.expires_at,
    )


def delete_one_time_link(digest: str, stored: Stored[OneTimeLink]) -> Operation:
    """Mark the link as used by deleting it; the commit fails if it was already used."""
    return Delete(_WELCOME + digest, expected=stored.revision)


async def list_one_time_links() -> list[OneTimeLink]:
    """Return the links that are still valid, the earliest to expire first."""
    keys = await list_all_keys(_WELCOME)
    links = await read_each(keys, lambda key, value: decode(key, value, OneTimeLink))
    return sorted(links, key=lambda link: link.expires_at)


async def delete_one_time_links_for(user_name: str | None) -> list[Operation]:
    """Return the operations that delete all links for this user, or for a first admin."""
    found = []
    for key in await list_all_keys(_WELCOME):
        stored = await get_record(key, OneTimeLink)
        if stored and stored.record.user == user_name:
            found.append(Delete(key))
    return list(found)
