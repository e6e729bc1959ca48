"""The rows of a skill in the search index: the columns that pages show, filter and search."""

import hashlib
from datetime import datetime
from typing import Any

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
from vskill_platform.catalogue.query import SkillHit
from vskill_platform.catalogue.rank import rank
from vskill_platform.catalogue.sql import (
    submission_key,
)
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
    """A row ready to be written; a malformed record raises before that."""

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
    return SkillRow(hit, rank(hit), text, digest, columns, encode(hit).decode())


def _digest(text: SkillText, hit: SkillHit) -> bytes:
    """Return a digest of everything that lists and searches depend on, except the installs."""
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
        *(mark(Facet.CAPABILITY, value) for value in capability_values(hit)),
    ]
    if hit.deprecated:  # found by its words, but first only by its exact name
        words = [*map(text_word, [*labels, *described]), *name_marks(name)[:1]]
    else:
        others = [word for word in described if word not in labels]
        words = [*map(label_word, labels), *map(text_word, others), *name_marks(name)]
    return SkillText(
        words=_joined([*words, *filters]),
        parts=_joined([*name_parts(name), *filters]),
    )


def capability_values(hit: SkillHit) -> list[str]:
    """Return what a skill can and cannot do; nothing if that was not recorded."""
    if hit.capabilities is None:
        return []
    return [name if name in hit.capabilities else WITHOUT + name for name in CAPABILITY_KINDS]


def _joined(words: list[str]) -> str:
    """Join distinct words; position and frequency are not indexed."""
    return " ".join(dict.fromkeys(words))


encode = msgspec.json.Encoder().encode
