"""Install counts of each skill: the total, and the counts of the last days (UTC).

One record per skill, changed by compare-and-set, so many nodes can count the same skill at once. A
visitor counts once a day for each skill, because a count that anyone could inflate would be
worthless.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from hashlib import blake2b

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_kv, get_now
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_found

_INSTALLS = "installs:"
#: Prefixes of the marks of visitors who were counted today, and of the key for these marks.
_MARK, _KEY = "install-mark:", "install-key:"
_MARK_BYTES, _KEY_BYTES = 16, 32
#: Older days are only in the total.
KEPT_DAYS = 90


class InstallCounts(Record, frozen=True, kw_only=True):
    total: int = 0
    #: Only days with installs.
    days: dict[date, int] = msgspec.field(default_factory=dict)

    def since(self, day: date) -> int:
        """Return the installs since that day."""
        return sum(count for known, count in self.days.items() if known >= day)


def slug_of_installs_key(key: str) -> str | None:
    """Return the slug in the key of an install record; None for other records."""
    return key[len(_INSTALLS) :] if key.startswith(_INSTALLS) else None


async def get_installs(slug: str) -> InstallCounts:
    stored = await get_record(_INSTALLS + slug, InstallCounts)
    return stored.record if stored else InstallCounts()


async def read_installs(slugs: Sequence[str]) -> dict[str, InstallCounts]:
    """Return the counts of each skill that was ever installed, read at once."""
    keys = [_INSTALLS + slug for slug in slugs]
    found = await read_found(keys, lambda key, value: decode(key, value, InstallCounts))
    return {key[len(_INSTALLS) :]: counts for key, counts in found.items()}


async def add_installs(visits: Mapping[str, Collection[str]]) -> None:
    """Count the visitors of each skill who were not yet counted for it today, on any node.

    Each skill is one commit. Who installs what is not stored: a mark is a digest with a key of the
    day, and mark and key are deleted after the day.
    """
    today = get_now().date()
    key = await _find_key(today)
    await asyncio.gather(
        *(
            _count(slug, [_mark(key, today, slug, who) for who in visitors], today)
            for slug, visitors in visits.items()
        )
    )


def delete_installs(slug: str) -> Operation:
    return Delete(_INSTALLS + slug)


async def move_installs(old_slug: str, new_slug: str) -> list[Operation]:
    """Return the operations that move the counts of a skill to its new slug."""
    old = await get_record(_INSTALLS + old_slug, InstallCounts)
    if old is None:
        return []
    new = await get_record(_INSTALLS + new_slug, InstallCounts) or Stored(InstallCounts(), ABSENT)
    days = dict(old.record.days)
    for day, count in new.record.days.items():
        days[day] = days.get(day, 0) + count
    both = InstallCounts(total=old.record.total + new.record.total, days=days)
    return [
        Delete(_INSTALLS + old_slug, expected=old.revision),
        Put(_INSTALLS + new_slug, encode(both), expected=new.revision, due=NEVER),
    ]


async def _count(slug: str, marks: Sequence[str], today: date) -> None:
    async def plan() -> PlannedChange[None]:
        known = await get_kv().get_many(marks)
        fresh = [mark for mark, entry in zip(marks, known, strict=True) if entry is None]
        if not fresh:
            return PlannedChange(result=None)
        stored = await get_record(_INSTALLS + slug, InstallCounts)
        before = stored or Stored(InstallCounts(), ABSENT)
        counts = encode(_added(before.record, len(fresh), today))
        puts = [Put(_INSTALLS + slug, counts, expected=before.revision, due=NEVER)]
        puts += [
            Put(mark, b"true", expected=ABSENT, due=NEVER, expires_at=_end_of(today))
            for mark in fresh
        ]
        return PlannedChange(operations=puts, result=None)

    await change(f"the installs of {slug}", plan)


async def _find_key(today: date) -> bytes:
    """Return the key of the day; the first caller creates it."""
    name = f"{_KEY}{today}"
    while (known := await get_kv().get(name)) is None:
        key = secrets.token_bytes(_KEY_BYTES)
        # If another node was faster, its key is used.
        await commit([Put(name, key, expected=ABSENT, due=NEVER, expires_at=_end_of(today))])
    return known.value


def _mark(key: bytes, today: date, slug: str, who: str) -> str:
    found = blake2b(f"{who}\0{slug}".encode(), key=key, digest_size=_MARK_BYTES)
    return f"{_MARK}{today}:{found.hexdigest()}"


def _end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def _added(counts: InstallCounts, count: int, today: date) -> InstallCounts:
    first = today - timedelta(days=KEPT_DAYS - 1)
    days = {day: known for day, known in counts.days.items() if first <= day}
    days[today] = days.get(today, 0) + count
    return InstallCounts(total=counts.total + count, days=days)
