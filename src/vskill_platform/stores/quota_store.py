"""Submissions and bytes accepted per publisher and day (UTC)."""

import hashlib
from datetime import UTC, date, datetime, time, timedelta

from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, encode, get_record

_QUOTA = "quota:"
#: How long a day is kept.
_KEPT_FOR = timedelta(days=7)


class Quota(Record, frozen=True, kw_only=True):
    publisher: str
    day: date
    used: int = 0
    bytes: int = 0


async def get_quota(publisher: str, day: date) -> Stored[Quota]:
    """Return the usage of a day; revision 0 if there is none."""
    stored = await get_record(_key(publisher, day), Quota)
    return stored or Stored(Quota(publisher=publisher, day=day), ABSENT)


def write_quota(quota: Quota, *, expected: int) -> Operation:
    """Return the operation that counts a submission; fails if the record has changed."""
    expires_at = datetime.combine(quota.day, time(), UTC) + _KEPT_FOR
    key = _key(quota.publisher, quota.day)
    return Put(key, encode(quota), expected=expected, due=NEVER, expires_at=expires_at)


def _key(publisher: str, day: date) -> str:
    sealed = hashlib.sha256(publisher.encode()).hexdigest()[:32]
    return f"{_QUOTA}{day}:{sealed}"
