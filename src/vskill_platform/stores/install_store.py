"""Install counts of each skill: the total, and each of the last days (UTC).

One record per skill, changed by compare-and-set, so many nodes can count the same skill at once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import msgspec

from vskill_platform.engines.ports import ABSENT, NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_found

_INSTALLS = "installs:"
#: Older days only count in the total.
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


async def add_installs(installs: Mapping[str, int]) -> None:
    """Add installs by slug, with one commit per skill."""
    await asyncio.gather(*(_add(slug, count) for slug, count in installs.items() if count))


async def _add(slug: str, count: int) -> None:
    async def plan() -> PlannedChange[None]:
        stored = await get_record(_INSTALLS + slug, InstallCounts)
        before = stored or Stored(InstallCounts(), ABSENT)
        counts = _added(before.record, count, get_now().date())
        put = Put(_INSTALLS + slug, encode(counts), expected=before.revision, due=NEVER)
        return PlannedChange(operations=[put], result=None)

    await change(f"the installs of {slug}", plan)


def _added(counts: InstallCounts, count: int, today: date) -> InstallCounts:
    first = today - timedelta(days=KEPT_DAYS - 1)
    days = {day: known for day, known in counts.days.items() if first <= day}
    days[today] = days.get(today, 0) + count
    return InstallCounts(total=counts.total + count, days=days)
