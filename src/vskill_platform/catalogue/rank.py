"""The rank of a skill: the order of search results that match equally well."""

import hashlib
import math
from datetime import UTC, datetime

from vskill_platform.catalogue.query import SkillHit
from vskill_platform.model.trust import TrustTier

_TIERS = {tier: number for number, tier in enumerate(TrustTier)}
#: Points: of a trust tier, of twice as many installs, and of a year. One tier up outweighs sixteen
#: times the installs, or two years.
_TIER_POINTS, _DOUBLING_POINTS, _YEAR_POINTS = 8, 2, 4
#: Fewer installs than this do not change the rank: a few downloads say nothing about a skill, and
#: a list must not reorder itself while somebody downloads what is on its first page.
_INSTALLS_THAT_COUNT = 16
_FIRST_YEAR = datetime(2020, 1, 1, tzinfo=UTC)
_YEAR_SECONDS = 365.25 * 86400
#: The resolution of points: a day and a half.
_LEVELS_A_POINT = 64
_MAX_LEVEL = 2**15 - 1
#: The lower bits of a rank distinguish skills of the same level, in the same way on every node.
#: Few, because the index stores each id for each of its words.
SLUG_BITS = 25


def rank(hit: SkillHit) -> int:
    """Combine trust, popularity and freshness into one number: the lower, the better.

    It depends on the record alone, never on the current time, and installs count by their
    doublings, so a skill's rank seldom changes.
    """
    points = (
        _TIER_POINTS * _TIERS[hit.tier]
        + _DOUBLING_POINTS * int(math.log2(1 + hit.installs / _INSTALLS_THAT_COUNT))
        + _YEAR_POINTS * (hit.updated_at - _FIRST_YEAR).total_seconds() / _YEAR_SECONDS
    )
    level = min(max(int(points * _LEVELS_A_POINT), 0), _MAX_LEVEL)
    digest = hashlib.blake2b(hit.slug.encode(errors="replace"), digest_size=8).digest()
    return (_MAX_LEVEL - level) << SLUG_BITS | int.from_bytes(digest) >> (64 - SLUG_BITS)
