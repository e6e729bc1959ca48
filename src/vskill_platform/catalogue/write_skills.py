"""Write changed skills to the search index: rows and full-text entries."""

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.query import SkillHit, TakenDownSkill
from vskill_platform.catalogue.skill_rows import (
    SkillFacts,
    SkillRow,
    SkillText,
    capability_values,
    encode,
    row_of,
)
from vskill_platform.catalogue.sql import (
    WRITE,
    Rows,
    one_row,
    skipped_if_malformed,
)
from vskill_platform.catalogue.vocabulary import count_words, vocabulary_of
from vskill_platform.engines.timestamps import to_micros

_HIT = msgspec.json.Decoder(SkillHit)


class SkillChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes to write."""

    listed: Sequence[SkillFacts] = ()
    down: Sequence[TakenDownSkill] = ()
    #: Slugs that no longer exist.
    gone: Sequence[str] = ()


class _Moved(msgspec.Struct):
    """Pending changes of the full-text indexes.

    They are written at the end, all at once, because any statement in between that SQLite may have
    to roll back would make the indexes flush a segment.
    """

    forget: list[int] = msgspec.field(default_factory=list)
    learn: list[tuple[int, SkillText]] = msgspec.field(default_factory=list)
    #: The rows of each table, which are also written at the end.
    skills: list[dict[str, Any]] = msgspec.field(default_factory=list)
    hits: list[tuple[int, str]] = msgspec.field(default_factory=list)
    tags: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    agents: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    capabilities: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    #: The change in the number of public skills that use each word.
    words: Counter[str] = msgspec.field(default_factory=Counter)


def write_skills(connection: apsw.Connection, changes: SkillChanges) -> bool:
    """Write changes; return whether the matches or totals of a query may have changed."""
    moved = _Moved()
    gone, listed = list(changes.gone), []
    shown_again = [*gone, *(facts.skill.slug for facts in changes.listed)]
    connection.execute(WRITE["delete_down"], {"slugs": encode(shown_again).decode()})
    for facts in changes.listed:
        with skipped_if_malformed(slug=facts.skill.slug) as attempt:
            listed.append(row_of(facts))
        if attempt.has_failed:
            gone.append(facts.skill.slug)
    slugs = [*shown_again, *(skill.slug for skill in changes.down)]
    rows = Rows(connection, "skill", slugs, [row.rank for row in listed])
    for slug in [*gone, *(skill.slug for skill in changes.down)]:
        _remove(connection, rows, slug, moved)
    for skill in changes.down:
        with skipped_if_malformed(slug=skill.slug):
            _put_down(connection, skill)
    for row in listed:
        _put(connection, rows, row, moved)
    _write_rows(connection, moved)
    _update_full_text(connection, moved)
    return bool(changes.down or moved.forget or moved.learn)


def _put(connection: apsw.Connection, rows: Rows, row: SkillRow, moved: _Moved) -> None:
    slug = row.hit.slug
    row_id = rows.free_id(row.rank, slug)
    is_new = rows.find(slug) != (row_id, row.digest)
    if is_new:
        _remove(connection, rows, slug, moved)
        rows.put(slug, row_id, row.digest)
    moved.skills.append({"id": row_id, **row.columns})
    moved.hits.append((row_id, row.shown))
    if not is_new:
        return
    is_private = int(row.hit.is_private)
    moved.tags += [(row_id, tag, is_private) for tag in row.hit.tags]
    moved.agents += [(row_id, agent, is_private) for agent in row.hit.agents]
    moved.capabilities += [
        (row_id, capability, is_private) for capability in capability_values(row.hit)
    ]
    moved.learn.append((row_id, row.text))
    moved.words.update(_public_words(row.hit))


def _public_words(hit: SkillHit) -> list[str]:
    return [] if hit.is_private else vocabulary_of(hit)


def _write_rows(connection: apsw.Connection, moved: _Moved) -> None:
    connection.executemany(WRITE["put_skill"], moved.skills)
    rows: dict[str, Sequence[tuple[Any, ...]]] = {
        "put_skill_hits": moved.hits,
        "add_skill_tags": moved.tags,
        "add_skill_agents": moved.agents,
        "add_skill_capabilities": moved.capabilities,
    }
    for query, some in rows.items():
        if some:
            connection.execute(WRITE[query], {"rows": encode(sorted(some)).decode()})


def _update_full_text(connection: apsw.Connection, moved: _Moved) -> None:
    # Ordered by id, because the index flushes a segment when an id is not higher than the last one.
    forget = [{"id": row_id} for row_id in sorted(moved.forget)]
    learn = sorted(moved.learn, key=itemgetter(0))
    texts = {
        "skill_text": [(row_id, text.words) for row_id, text in learn],
        "skill_part": [(row_id, text.parts) for row_id, text in learn],
    }
    for index, rows in texts.items():
        connection.executemany(WRITE[f"delete_{index}"], forget)
        if rows:
            connection.execute(WRITE[f"add_{index}"], {"rows": encode(rows).decode()})
    count_words(connection, moved.words)


def _remove(connection: apsw.Connection, rows: Rows, slug: str, moved: _Moved) -> None:
    if known := rows.find(slug):
        rows.remove(slug)
        _delete(connection, known[0], moved)


def _delete(connection: apsw.Connection, row_id: int, moved: _Moved) -> None:
    (hit,) = one_row(connection, "hit_at", id=row_id) or ("",)
    if hit:
        moved.words.subtract(_public_words(_HIT.decode(hit)))
    for table in ("skill", "skill_hit", "skill_tag", "skill_agent", "skill_capability"):
        connection.execute(WRITE[f"delete_{table}"], {"id": row_id})
    moved.forget.append(row_id)


def _put_down(connection: apsw.Connection, skill: TakenDownSkill) -> None:
    connection.execute(
        WRITE["put_down"],
        {
            "slug": skill.slug,
            "namespace": skill.namespace,
            "is_private": int(skill.is_private),
            "at": to_micros(skill.at),
            "shown": encode(skill).decode(),
        },
    )
