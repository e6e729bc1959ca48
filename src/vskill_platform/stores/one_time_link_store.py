"""Links that let somebody in once, each under the digest of its key."""

from datetime import datetime

from vskill_platform.engines.ports import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record, list_all_keys

_WELCOME = "welcome:"


class Welcome(Record, frozen=True, kw_only=True):
    """What somebody may do who has the link."""

    #: Whose password it sets; None if it makes an admin.
    user: str | None
    #: Whether it is good only while there is no admin.
    is_first: bool = False
    expires_at: datetime
    #: Who made it.
    by: str


async def get_welcome(digest: str) -> Stored[Welcome] | None:
    return await get_record(_WELCOME + digest, Welcome)


def write_welcome(digest: str, welcome: Welcome) -> Operation:
    return Put(
        _WELCOME + digest,
        encode(welcome),
        expected=ABSENT,
        due=NEVER,
        expires_at=welcome.expires_at,
    )


def delete_welcome(digest: str, stored: Stored[Welcome]) -> Operation:
    """Use it up; the commit fails if somebody else has."""
    return Delete(_WELCOME + digest, expected=stored.revision)


async def delete_welcomes_for(user_name: str | None) -> list[Operation]:
    """Say what to delete so that no link for this user, or for a first admin, is left."""
    found = []
    for key in await list_all_keys(_WELCOME):
        stored = await get_record(key, Welcome)
        if stored and stored.record.user == user_name:
            found.append(Delete(key))
    return list(found)
