"""Find similar published skills by the marks that they share, without reading all skills.

Each skill has one record with its marks, written in the commit that publishes the skill. An
unreadable record is an error and never skipped, because it might be the original of a copy.
"""

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache

import msgspec

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
from vskill_platform.model.lookalike import NAMES_VERSION, name_marks
from vskill_platform.model.record import Record
from vskill_platform.model.similarity import Sketch, SkillSketch, text_marks
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import Stored, encode, get_all, get_record, list_all_keys

#: Stored under the name of earlier releases.
_SIMILARITY = "likeness:"
#: How many skills with a mark are compared: this many from each end. The oldest have the lowest
#: rank, so that many copies cannot hide an original.
_MOST_OF_A_MARK = 100


class SimilarityRecord(Record, frozen=True, kw_only=True):
    """The data by which a published skill is compared."""

    slug: str
    name: str
    #: Its publisher: host and owner of its source, or its namespace.
    publisher: str
    #: When it was first published.
    since: datetime
    #: Also stored under the name of earlier releases.
    sketch: SkillSketch = msgspec.field(name="likeness")
    #: The version of its name marks, which differ between releases.
    names_version: int = 0


@lru_cache(maxsize=256)
def marks_of(instructions: Sketch, name: str) -> tuple[str, ...]:
    """Return all marks of a skill; cached, because a compared skill is usually published next."""
    return (*text_marks(instructions), *name_marks(name))


async def get_similarity_record(slug: str) -> SimilarityRecord | None:
    stored = await _get(slug)
    return stored.record if stored else None


async def list_indexed_slugs() -> list[str]:
    return [key.removeprefix(_SIMILARITY) for key in await list_all_keys(_SIMILARITY)]


async def find_by_marks(marks: Collection[str]) -> list[SimilarityRecord]:
    """Return the skills that share one of *marks*, oldest first."""
    found = await get_all(await _keys_with(tuple(marks)), SimilarityRecord)
    records = [stored.record for stored in found if stored]
    return sorted(records, key=lambda item: (item.since, item.slug))


async def write_similarity_record(
    skill: SimilarityRecord, *, is_new: bool = False
) -> list[Operation]:
    """Return the operations that update a skill's similarity record.

    The caller's commit must fail if the skill was published again in the meantime. For a new skill
    nothing is read, because nothing is stored yet.
    """
    marked = msgspec.structs.replace(skill, names_version=NAMES_VERSION)
    stored = None if is_new else await _get(skill.slug)
    return [] if stored and stored.record == marked else [_write(marked)]


async def delete_similarity_record(slug: str) -> list[Operation]:
    """Return the operations that remove a skill's similarity record."""
    return [Delete(_SIMILARITY + slug)] if await _get(slug) else []


async def move_similarity_record(
    old_slug: str, new_slug: str, *, publisher: str = ""
) -> list[Operation]:
    """Return the operations that move the record to a new slug."""
    stored = await _get(old_slug)
    if stored is None:
        return []
    moved = msgspec.structs.replace(
        stored.record,
        slug=new_slug,
        name=new_slug.rpartition("/")[2],
        publisher=publisher or stored.record.publisher,
        names_version=NAMES_VERSION,
    )
    return [Delete(_SIMILARITY + old_slug), _write(moved)]


def _write(skill: SimilarityRecord) -> Operation:
    return Put(
        _SIMILARITY + skill.slug,
        encode(skill),
        due=NEVER,
        marks=marks_of(skill.sketch.instructions, skill.name),
        rank=int(skill.since.timestamp()),
    )


async def _get(slug: str) -> Stored[SimilarityRecord] | None:
    return await get_record(_SIMILARITY + slug, SimilarityRecord)


async def _keys_with(marks: tuple[str, ...]) -> list[str]:
    """Return the keys of records with one of *marks*: those of lowest and highest rank of each."""
    if not marks:
        return []
    kv = get_kv()
    first = await kv.find_marked(marks, limit=_MOST_OF_A_MARK)
    crowded = [
        mark for mark, keys in zip(marks, first, strict=True) if len(keys) == _MOST_OF_A_MARK
    ]
    last = await kv.find_marked(crowded, limit=_MOST_OF_A_MARK, last_first=True) if crowded else []
    return sorted({key for keys in (*first, *last) for key in keys})
