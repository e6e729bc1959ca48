"""Write changed skills to the search index: rows and full-text entries."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import (
    ANY,
    ANY_AGENT,
    PRIVATE,
    WITHOUT,
    Facet,
    label_word,
    mark,
    name_marks,
    text_word,
)
from vskill_platform.catalogue.query import SkillHit, TakenDownSkill
from vskill_platform.catalogue.rank import rank
from vskill_platform.catalogue.sql import (
    WRITE,
    Rows,
    one_row,
    skipped_if_malformed,
    submission_key,
)
from vskill_platform.catalogue.vocabulary import count_words, vocabulary_of
from vskill_platform.catalogue.words import as_one_word, name_parts, words_of
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import (
    CAPABILITY_KINDS,
    Capabilities,
    PublishedSkill,
    capability_names,
)
from vskill_platform.model.trust import TrustScore

_MAX_COUNT = 2**53


class SkillFacts(msgspec.Struct, frozen=True):
    """A skill with its data from other records."""

    skill: PublishedSkill
    trust: TrustScore
    updated_at: datetime
    installs: int
    capabilities: Capabilities | None = None
    zip_sha256: str = ""
    git_commit: str = ""
    plugin_commit: str = ""


class SkillText(msgspec.Struct, frozen=True):
    """The text of a skill for each of the full-text indexes."""

    words: str
    parts: str


class SkillRow(msgspec.Struct, frozen=True):
    """A row ready to be written; a malformed record has raised before."""

    hit: SkillHit
    #: The preferred id: lower is better.
    rank: int
    text: SkillText
    digest: bytes
    #: All columns except the id.
    columns: dict[str, Any]
    #: The data for lists, as JSON.
    shown: str


def row_of(facts: SkillFacts) -> SkillRow:
    skill = facts.skill
    deprecation = skill.deprecation_of(skill.latest_number)
    hit = SkillHit(
        slug=skill.slug,
        name=skill.name,
        description=skill.description,
        namespace=namespace_of_skill(skill),
        publisher=skill.publisher,
        version=skill.version,
        repo_url=skill.repo_url,
        tier=facts.trust.tier,
        trust_score=facts.trust.score,
        tags=skill.tags,
        agents=skill.agents,
        license=skill.license,
        published_at=skill.published_at,
        updated_at=facts.updated_at,
        is_private=skill.is_private,
        installs=min(max(facts.installs, 0), _MAX_COUNT),
        capabilities=(None if facts.capabilities is None else capability_names(facts.capabilities)),
        zip_sha256=facts.zip_sha256,
        git_commit=facts.git_commit,
        plugin_commit=facts.plugin_commit,
        deprecated=deprecation.reason if deprecation else "",
        use_instead=deprecation.use if deprecation else "",
    )
    name = words_of(hit.name)
    text = _text(hit, name)
    digest = _digest(text, hit)
    columns = {
        "slug": hit.slug,
        "name_key": as_one_word(name),
        "namespace": hit.namespace,
        "tier": hit.tier.value,
        "trust_score": hit.trust_score,
        "installs": hit.installs,
        "published_at": to_micros(hit.published_at),
        "updated_at": to_micros(hit.updated_at),
        "is_private": int(hit.is_private),
        "names_agents": int(bool(hit.agents)),
        "submission_key": submission_key(skill.submission_id),
        "found_by": digest,
    }
    return SkillRow(hit, rank(hit), text, digest, columns, _encode(hit).decode())


def _digest(text: SkillText, hit: SkillHit) -> bytes:
    """Return a digest of all that lists and searches depend on, except the number of installs."""
    listed = (
        hit.name, hit.description, hit.version, hit.license, hit.zip_sha256, hit.git_commit,
        hit.deprecated, hit.use_instead,
    )  # fmt: skip
    return hashlib.blake2b(msgspec.msgpack.encode((text, listed)), digest_size=8).digest()


def _text(hit: SkillHit, name: list[str]) -> SkillText:
    source = hit.repo_url.partition("://")[2] or hit.repo_url
    labels = dict.fromkeys([*name, *words_of(" ".join((hit.slug, source, *hit.tags)))])
    described = words_of(hit.description)
    filters = [
        ANY,
        *([PRIVATE] if hit.is_private else []),
        mark(Facet.NAMESPACE, hit.namespace),
        mark(Facet.TIER, hit.tier),
        *(mark(Facet.TAG, tag) for tag in hit.tags),
        *(mark(Facet.AGENT, agent) for agent in hit.agents or (ANY_AGENT,)),
        *(mark(Facet.CAPABILITY, value) for value in _capability_values(hit)),
    ]
    if hit.deprecated:  # it is found by its words, and first only by its exact name
        words = [*map(text_word, [*labels, *described]), *name_marks(name)[:1]]
    else:
        others = [word for word in described if word not in labels]
        words = [*map(label_word, labels), *map(text_word, others), *name_marks(name)]
    return SkillText(
        words=_joined([*words, *filters]),
        parts=_joined([*name_parts(name), *filters]),
    )


def _capability_values(hit: SkillHit) -> list[str]:
    """Return what it can do and what it cannot; nothing if that was not recorded."""
    if hit.capabilities is None:
        return []
    return [name if name in hit.capabilities else WITHOUT + name for name in CAPABILITY_KINDS]


def _joined(words: list[str]) -> str:
    """Join distinct words; position and frequency are not indexed."""
    return " ".join(dict.fromkeys(words))


_encode = msgspec.json.Encoder().encode
_HIT = msgspec.json.Decoder(SkillHit)


class SkillChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The changes to write."""

    listed: Sequence[SkillFacts] = ()
    down: Sequence[TakenDownSkill] = ()
    #: Slugs that no longer exist.
    gone: Sequence[str] = ()


class _Moved(msgspec.Struct):
    """Pending changes of the full-text indexes.

    They are written at the end, all at once: any statement in between that SQLite may have to roll
    back would make the indexes flush a segment.
    """

    forget: list[int] = msgspec.field(default_factory=list)
    learn: list[tuple[int, SkillText]] = msgspec.field(default_factory=list)
    #: Rows of each table, written at the end as well.
    skills: list[dict[str, Any]] = msgspec.field(default_factory=list)
    hits: list[tuple[int, str]] = msgspec.field(default_factory=list)
    tags: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    agents: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    capabilities: list[tuple[int, str, int]] = msgspec.field(default_factory=list)
    #: By how many public skills each word is used more or less often.
    words: Counter[str] = msgspec.field(default_factory=Counter)


def write_skills(connection: apsw.Connection, changes: SkillChanges) -> bool:
    """Write changes; return whether the matches or totals of a query may have changed."""
    moved = _Moved()
    gone, listed = list(changes.gone), []
    shown_again = [*gone, *(facts.skill.slug for facts in changes.listed)]
    connection.execute(WRITE["delete_down"], {"slugs": _encode(shown_again).decode()})
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
    _tell_indexes(connection, moved)
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
        (row_id, capability, is_private) for capability in _capability_values(row.hit)
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
            connection.execute(WRITE[query], {"rows": _encode(sorted(some)).decode()})


def _tell_indexes(connection: apsw.Connection, moved: _Moved) -> None:
    # Ordered by id: the index flushes a segment when an id is not higher than the last.
    forget = [{"id": row_id} for row_id in sorted(moved.forget)]
    learn = sorted(moved.learn, key=itemgetter(0))
    texts = {
        "skill_text": [(row_id, text.words) for row_id, text in learn],
        "skill_part": [(row_id, text.parts) for row_id, text in learn],
    }
    for index, rows in texts.items():
        connection.executemany(WRITE[f"delete_{index}"], forget)
        if rows:
            connection.execute(WRITE[f"add_{index}"], {"rows": _encode(rows).decode()})
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
            "shown": _encode(skill).decode(),
        },
    )
