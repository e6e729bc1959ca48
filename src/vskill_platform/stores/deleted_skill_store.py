"""Records of deleted skills: the reserved name and the last version."""

from datetime import datetime

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.stores.records import Stored, encode, get_record

_DELETED = "deleted-skill:"


class DeletedSkill(Reasoned, Record, frozen=True, kw_only=True):
    slug: str
    #: The sources that may publish it again, with higher version numbers; none if an admin
    #: deleted it.
    sources: tuple[str, ...] = ()
    #: The number of its versions, and the highest one.
    versions: int
    version: str
    is_private: bool
    reason: str
    by: str
    at: datetime

    def may_republish(self, source_key: str) -> bool:
        return source_key in self.sources


def deleted_skill_key(slug: str) -> str:
    return _DELETED + slug


async def get_deleted_skill(slug: str) -> Stored[DeletedSkill] | None:
    return await get_record(_DELETED + slug, DeletedSkill)


def write_deleted_skill(deleted: DeletedSkill) -> Operation:
    return Put(_DELETED + deleted.slug, encode(deleted), due=NEVER)


async def allow_republishing(slug: str, source_key: str) -> list[Operation]:
    """Return the operation that lets a source publish a deleted skill again."""
    gone = await get_deleted_skill(slug)
    if gone is None or gone.record.may_republish(source_key):
        return []
    sources = (*gone.record.sources, source_key)
    changed = msgspec.structs.replace(gone.record, sources=sources)
    return [Put(_DELETED + slug, encode(changed), expected=gone.revision, due=NEVER)]


def expect_deleted_skill(slug: str, gone: Stored[DeletedSkill] | None) -> Operation:
    """Make a commit fail if this slug was deleted or published again in the meantime."""
    return Expect(_DELETED + slug, gone.revision if gone else ABSENT)


def replace_deleted_skill(slug: str, gone: Stored[DeletedSkill] | None) -> list[Operation]:
    """Return the operations for a skill that takes this slug; they fail if it was deleted since."""
    if gone is None:
        return [expect_deleted_skill(slug, None)]
    return [Delete(_DELETED + slug, expected=gone.revision)]
