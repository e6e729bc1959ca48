"""Which published skills are like a given one: found by the marks they share, not by reading all.

Each skill has one record, and for each of its marks a key that holds nothing but the way to it.
They are written in the commit that publishes the skill. Here nothing is skipped: what cannot be
read might be what a copy was made of, so it is an error.
"""

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from typing import TypeVar

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.engines.ports import NEVER, Delete, Operation, Page, Put
from vskill_platform.model.likeness import Likeness, text_marks
from vskill_platform.model.lookalike import name_marks
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, encode, get_record, list_all_keys

Result = TypeVar("Result")

_LIKENESS = "likeness:"
#: There are some twenty of these for each skill, so they are short.
_MARK = "like:"
#: How many skills of one mark are looked at from either end. The oldest come first in their keys,
#: so that nobody can hide what was copied behind a heap of copies.
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
    #: The marks under which it is found; another release may have made others.
    marks: tuple[str, ...] = ()


async def get_likeness(slug: str) -> SkillLikeness | None:
    stored = await _get(slug)
    return stored.record if stored else None


async def list_indexed_slugs() -> list[str]:
    return [key.removeprefix(_LIKENESS) for key in await list_all_keys(_LIKENESS)]


async def find_by_marks(marks: Collection[str]) -> list[SkillLikeness]:
    """Return the skills that share one of *marks*, the longest published first."""
    slugs: set[str] = set()
    for pages in await _settled(_list_mark, marks):
        slugs.update(_slug_in(key) for page in pages for key in page.keys)
    found = await _settled(_get, sorted(slugs))
    records = [stored.record for stored in found if stored]
    return sorted(records, key=lambda item: (item.since, item.slug))


async def write_likeness(skill: SkillLikeness) -> list[Operation]:
    """Say what to write so that the skill is found as it is now, and no longer as it was.

    The caller's commit must fail if the skill was published anew meanwhile.
    """
    marked = _with_marks(skill)
    stored = await _get(skill.slug)
    if stored and stored.record == marked:
        return []
    old = set(_mark_keys(stored.record)) if stored else set()
    new = set(_mark_keys(marked))
    return [
        Put(_LIKENESS + skill.slug, encode(marked), due=NEVER),
        *(Delete(key) for key in sorted(old - new)),
        *(Put(key, b"", due=NEVER) for key in sorted(new - old)),
    ]


async def delete_likeness(slug: str) -> list[Operation]:
    """Say what to write so that nothing is taken for a copy of this skill any more."""
    stored = await _get(slug)
    if stored is None:
        return []
    return [Delete(_LIKENESS + slug), *(Delete(key) for key in _mark_keys(stored.record))]


async def move_likeness(old_slug: str, new_slug: str) -> list[Operation]:
    """Say what to write so that a skill is found under its new slug."""
    stored = await _get(old_slug)
    if stored is None:
        return []
    moved = msgspec.structs.replace(stored.record, slug=new_slug)
    return [
        Delete(_LIKENESS + old_slug),
        *(Delete(key) for key in _mark_keys(stored.record)),
        Put(_LIKENESS + new_slug, encode(moved), due=NEVER),
        *(Put(key, b"", due=NEVER) for key in _mark_keys(moved)),
    ]


async def _get(slug: str) -> Stored[SkillLikeness] | None:
    return await get_record(_LIKENESS + slug, SkillLikeness)


async def _list_mark(mark: str) -> list[Page]:
    kv, prefix = get_kv(), f"{_MARK}{mark}:"
    oldest = await kv.list_keys(prefix, limit=_MOST_OF_A_MARK)
    if oldest.cursor is None:
        return [oldest]
    return [oldest, await kv.list_keys(prefix, limit=_MOST_OF_A_MARK, newest_first=True)]


async def _settled(
    work: Callable[[str], Awaitable[Result]], items: Collection[str]
) -> list[Result]:
    """Do so with all of them at once; if one fails, all have failed."""
    results: list[Result] = []
    for outcome in await settle(work, items):
        if isinstance(outcome, Exception):
            raise outcome
        results.append(outcome)
    return results


def _with_marks(skill: SkillLikeness) -> SkillLikeness:
    marks = (*text_marks(skill.likeness.instructions), *name_marks(skill.name))
    return msgspec.structs.replace(skill, marks=marks)


def _mark_keys(skill: SkillLikeness) -> list[str]:
    since = f"{int(skill.since.timestamp()):08x}"
    return [f"{_MARK}{mark}:{since}:{skill.slug}" for mark in skill.marks]


def _slug_in(key: str) -> str:
    _, _, _, slug = key.split(":", 3)
    return slug
