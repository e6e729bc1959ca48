"""Mirrored skills: one record per slug, with the version last seen in the other registry."""

from datetime import datetime
from enum import StrEnum

import msgspec

from vskill_platform.engines.operations import Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_each

_MIRRORED = "mirrored:"


class MirrorStatus(StrEnum):
    CURRENT = "current"
    #: The latest version there has not been fetched yet.
    WAITING = "waiting"
    #: The last check failed.
    FAILING = "failing"
    #: The other registry no longer has the skill.
    MISSING = "missing"
    #: The other registry has yanked or blocked the latest version.
    WITHDRAWN = "withdrawn"


class PinnedVersion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version that was requested by its number, as it was first seen."""

    version: str
    content: str
    seen_at: datetime


class MirroredSkill(Record, frozen=True, kw_only=True):
    slug: str
    #: The name of the mirror in the settings, and of the skill there.
    mirror: str
    name: str
    #: Who requested it first, and when.
    by: str
    at: datetime
    #: The latest version there, and when it was first seen.
    revision: str
    #: The digest of its content according to the other registry; "" if it provides none.
    content: str = ""
    version: str = ""
    seen_at: datetime
    #: The version that was last submitted; empty before the first one.
    taken: str = ""
    checked_at: datetime | None = None
    #: The failed checks in a row, and why the last one failed or took nothing.
    failures: int = 0
    problem: str = ""
    missing_since: datetime | None = None
    withdrawn_since: datetime | None = None
    #: Oldest first.
    pinned: tuple[PinnedVersion, ...] = ()

    def pin_of(self, version: str) -> PinnedVersion | None:
        return next((pin for pin in self.pinned if pin.version == version), None)

    def content_of(self, revision: str) -> str:
        """Return the digest of a version when it was first seen; "" if that is unknown."""
        if self.revision == revision:
            return self.content
        pin = self.pin_of(revision)
        return pin.content if pin else ""

    @property
    def status(self) -> MirrorStatus:
        if self.missing_since:
            return MirrorStatus.MISSING
        if self.withdrawn_since:
            return MirrorStatus.WITHDRAWN
        if self.failures:
            return MirrorStatus.FAILING
        return MirrorStatus.CURRENT if self.taken == self.revision else MirrorStatus.WAITING


class MirroredPage(msgspec.Struct, frozen=True):
    skills: list[MirroredSkill]
    cursor: str | None


async def get_mirrored(slug: str) -> Stored[MirroredSkill] | None:
    return await get_record(_MIRRORED + slug, MirroredSkill)


async def list_mirrored(*, after: str | None = None, limit: int = 100) -> MirroredPage:
    """Return a page of mirrored skills, ordered by slug."""
    page = await get_kv().list_keys(_MIRRORED, after=after, limit=limit)
    return MirroredPage(await _read(page.keys), page.cursor)


async def list_due_mirrored(now: datetime, *, limit: int) -> list[MirroredSkill]:
    """Return the skills that are due for a comparison, most overdue first."""
    page = await get_kv().list_keys(_MIRRORED, limit=limit, due_before=now)
    return await _read(page.keys)


def write_mirrored(
    skill: MirroredSkill, *, due: datetime, expected: int | None = None
) -> Operation:
    """Return the operation that stores it; *due* is the time of its next comparison."""
    return Put(_MIRRORED + skill.slug, encode(skill), expected=expected, due=due)


async def _read(keys: list[str]) -> list[MirroredSkill]:
    return await read_each(keys, lambda key, value: decode(key, value, MirroredSkill))
