"""Which published skills are like a given one: found by the marks they share, not by reading all.

Each skill has one record that carries its marks, written in the commit that publishes the skill.
Here nothing is skipped: what cannot be read might be what a copy was made of, so it is an error.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache

import msgspec

from vskill_platform.engines.ports import NEVER, Delete, Operation, Put
from vskill_platform.model.likeness import Likeness, Sketch, text_marks
from vskill_platform.model.lookalike import NAMES_VERSION, name_marks
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, encode, get_all, get_record, list_all_keys

_LIKENESS = "likeness:"
#: How many skills of one mark are looked at from either end. The oldest have the lowest rank, so
#: that nobody can hide what was copied behind a heap of copies.
_MOST_OF_A_MARK = 100


class SkillLikeness(Record, frozen=True, kw_only=True):
    """What a published skill is compared by."""

    slug: str
    name: str
    #: Who answers for it: host and owner of its source, or its namespace.
    publisher: str
    #: Since when it is published.
    since: datetime
    likeness: Likeness
    #: How the marks of its name were made; another release may make others.
    names_version: int = 0


@lru_cache(maxsize=256)
def marks_of(instructions: Sketch, name: str) -> tuple[str, ...]:
    """Return all marks of a skill; known for a while, since who is compared is published soon."""
    return (*text_marks(instructions), *name_marks(name))


async def get_likeness(slug: str) -> SkillLikeness | None:
    stored = await _get(slug)
    return stored.record if stored else None


async def list_indexed_slugs() -> list[str]:
    return [key.removeprefix(_LIKENESS) for key in await list_all_keys(_LIKENESS)]


async def find_by_marks(marks: Collection[str]) -> list[SkillLikeness]:
    """Return the skills that share one of *marks*, the longest published first."""
    found = await get_all(await _keys_with(tuple(marks)), SkillLikeness)
    records = [stored.record for stored in found if stored]
    return sorted(records, key=lambda item: (item.since, item.slug))


async def write_likeness(skill: SkillLikeness, *, is_new: bool = False) -> list[Operation]:
    """Say what to write so that the skill is found as it is now, and no longer as it was.

    The caller's commit must fail if the skill was published anew meanwhile. Of one that is new
    nothing can be known yet, so nothing is read.
    """
    marked = msgspec.structs.replace(skill, names_version=NAMES_VERSION)
    stored = None if is_new else await _get(skill.slug)
    return [] if stored and stored.record == marked else [_write(marked)]


async def delete_likeness(slug: str) -> list[Operation]:
    """Say what to write so that nothing is taken for a copy of this skill any more."""
    return [Delete(_LIKENESS + slug)] if await _get(slug) else []


async def move_likeness(old_slug: str, new_slug: str) -> list[Operation]:
    """Say what to write so that a skill is found under its new slug."""
    stored = await _get(old_slug)
    if stored is None:
        return []
    moved = msgspec.structs.replace(stored.record, slug=new_slug, names_version=NAMES_VERSION)
    return [Delete(_LIKENESS + old_slug), _write(moved)]


def _write(skill: SkillLikeness) -> Operation:
    return Put(
        _LIKENESS + skill.slug,
        encode(skill),
        due=NEVER,
        marks=marks_of(skill.likeness.instructions, skill.name),
        rank=int(skill.since.timestamp()),
    )


async def _get(slug: str) -> Stored[SkillLikeness] | None:
    return await get_record(_LIKENESS + slug, SkillLikeness)


async def _keys_with(marks: tuple[str, ...]) -> list[str]:
    """Return the keys of all with one of *marks*; where there are many, those at either end."""
    if not marks:
        return []
    kv = get_kv()
    first = await kv.find_marked(marks, limit=_MOST_OF_A_MARK)
    crowded = [
        mark for mark, keys in zip(marks, first, strict=True) if len(keys) == _MOST_OF_A_MARK
    ]
    last = await kv.find_marked(crowded, limit=_MOST_OF_A_MARK, last_first=True) if crowded else []
    return sorted({key for keys in (*first, *last) for key in keys})
