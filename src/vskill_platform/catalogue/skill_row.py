"""From a record to what the catalogue keeps of a skill: its row, its rank, and what finds it."""

import hashlib
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

from vskill_platform.catalogue.match import (
    ANY,
    ANY_AGENT,
    PRIVATE,
    Facet,
    description_marks,
    label_marks,
    mark,
    name_marks,
)
from vskill_platform.catalogue.query import SkillHit
from vskill_platform.catalogue.words import as_one_word, name_parts, with_singulars, words_of
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.trust import TrustScore, TrustTier

_encode = msgspec.json.Encoder().encode
_TIERS = {tier: number for number, tier in enumerate(TrustTier)}
#: What counts in the rank, in points. A tier weighs as much as sixteen times the installs, or as
#: two years.
_TIER_POINTS, _DOUBLING_POINTS, _YEAR_POINTS = 8, 2, 4
#: Fewer installs than this do not change the rank: a few downloads say nothing about a skill, and
#: a list must not reorder itself while somebody downloads what is on its first page.
_INSTALLS_THAT_COUNT = 16
_FIRST_YEAR = datetime(2020, 1, 1, tzinfo=UTC)
_YEAR_SECONDS = 365.25 * 86400
#: Points are told apart this finely: a day and a half.
_LEVELS_A_POINT = 64
_MAX_LEVEL = 2**15 - 1
#: The lower bits of a rank tell skills of the same level apart, on every node in the same way. Few,
#: because the index writes each id down for each of its words.
SLUG_BITS = 25
_MAX_COUNT = 2**53


class SkillFacts(msgspec.Struct, frozen=True):
    """A skill with all that is known of it elsewhere."""

    skill: PublishedSkill
    trust: TrustScore
    updated_at: datetime
    installs: int


class SkillText(msgspec.Struct, frozen=True):
    """What finds a skill: one text for each of the full-text indexes."""

    words: str
    parts: str

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(msgspec.msgpack.encode(self), digest_size=16).digest()


class SkillRow(msgspec.Struct, frozen=True):
    """Ready to be written: what could be wrong with a record has shown itself by now."""

    hit: SkillHit
    #: The wished id: the lower, the better.
    rank: int
    text: SkillText
    digest: bytes
    #: The columns of its table but the id.
    columns: dict[str, Any]
    #: What a list shows, as JSON.
    shown: str


def row_of(facts: SkillFacts) -> SkillRow:
    skill = facts.skill
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
    )
    name = words_of(hit.name)
    text = _text(hit, name)
    digest = text.digest
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
        "submission_id": skill.submission_id,
        "found_by": digest,
    }
    return SkillRow(hit, _rank(hit), text, digest, columns, _encode(hit).decode())


def _rank(hit: SkillHit) -> int:
    """Put trust, popularity and freshness into one number; only what they are, not what time it is.

    Installs count by their doublings, so a skill seldom changes its rank.
    """
    points = (
        _TIER_POINTS * _TIERS[hit.tier]
        + _DOUBLING_POINTS * int(math.log2(1 + hit.installs / _INSTALLS_THAT_COUNT))
        + _YEAR_POINTS * (hit.updated_at - _FIRST_YEAR).total_seconds() / _YEAR_SECONDS
    )
    level = min(max(int(points * _LEVELS_A_POINT), 0), _MAX_LEVEL)
    digest = hashlib.blake2b(hit.slug.encode(errors="replace"), digest_size=8).digest()
    return (_MAX_LEVEL - level) << SLUG_BITS | int.from_bytes(digest) >> (64 - SLUG_BITS)


def _text(hit: SkillHit, name: list[str]) -> SkillText:
    source = hit.repo_url.partition("://")[2] or hit.repo_url
    labels = [*name, *words_of(" ".join((hit.slug, source, *hit.tags)))]
    described = words_of(hit.description)
    filters = [
        ANY,
        *([PRIVATE] if hit.is_private else []),
        mark(Facet.NAMESPACE, hit.namespace),
        mark(Facet.TIER, hit.tier),
        *(mark(Facet.TAG, tag) for tag in hit.tags),
        *(mark(Facet.AGENT, agent) for agent in hit.agents or (ANY_AGENT,)),
    ]
    return SkillText(
        words=_joined(
            [
                *with_singulars([*labels, *described]),
                *name_marks(name),
                *label_marks(labels),
                *description_marks([*labels, *described]),
                *filters,
            ]
        ),
        parts=_joined([*name_parts(name), *filters]),
    )


def _joined(words: list[str]) -> str:
    """Return each once: where and how often it stands is not asked."""
    return " ".join(dict.fromkeys(words))
