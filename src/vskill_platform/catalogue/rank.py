"""Compute the rank of a skill: it orders search results that match equally well.

Match quality is ordered in search.sql (best_fitting).
"""

import hashlib
import math
from datetime import UTC, datetime

from vskill_platform.catalogue.query import SkillHit
from vskill_platform.model.trust import TrustTier

_TIERS = {tier: number for number, tier in enumerate(TrustTier)}
#: Points for a trust tier, for twice as many installs, and for a year. One tier outweighs sixteen
#: times the installs, or two years.
_TIER_POINTS, _DOUBLING_POINTS, _YEAR_POINTS = 8, 2, 4
#: Fewer installs than this do not affect the rank: a few downloads carry no information, and the
#: order of a list must not change while its skills are downloaded.
_INSTALLS_THAT_COUNT = 16
_FIRST_YEAR = datetime(2020, 1, 1, tzinfo=UTC)
_YEAR_SECONDS = 365.25 * 86400
#: Resolution of a point, which is about three days.
_LEVELS_A_POINT = 32
_MAX_LEVEL = 2**13 - 1
#: The lower bits of a rank distinguish skills of the same level, in the same way on every node.
#: There are few, because the full-text index stores the id with each word. If a level has more
#: skills than ids, some get an id of the next level (ids_near in sql.py).
SLUG_BITS = 18


def rank(hit: SkillHit) -> int:
    """Combine trust, popularity and freshness into one number: the lower, the better.

    It depends only on the record, never on the current time, and installs count by the number of
    doublings, so a skill's rank seldom changes.
    """
    points = (
        _TIER_POINTS * _TIERS[hit.tier]
        + _DOUBLING_POINTS * int(math.log2(1 + hit.installs / _INSTALLS_THAT_COUNT))
        + _YEAR_POINTS * (hit.updated_at - _FIRST_YEAR).total_seconds() / _YEAR_SECONDS
    )
    level = min(max(int(points * _LEVELS_A_POINT), 1), _MAX_LEVEL)
    if hit.deprecated:
        level = 0  # below all others
    digest = hashlib.blake2b(hit.slug.encode(errors="replace"), digest_size=8).digest()
    return (_MAX_LEVEL - level) << SLUG_BITS | int.from_bytes(digest) >> (64 - SLUG_BITS)
