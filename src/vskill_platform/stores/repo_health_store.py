"""Whether a skill's source is still there. An outage is UNKNOWN, never GONE."""

from datetime import datetime, timedelta
from enum import StrEnum

from vskill_platform.engines.ports import NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import encode, get_record

_REPO_HEALTH = "repo-health:"
#: What was seen longer ago says nothing about today.
REPO_HEALTH_TTL = timedelta(hours=24)


class RepoStatus(StrEnum):
    ONLINE = "ONLINE"
    STALE = "STALE"
    GONE = "GONE"
    UNKNOWN = "UNKNOWN"


class RepoHealth(Record, frozen=True, kw_only=True):
    status: RepoStatus
    checked_at: datetime
    last_commit_at: datetime | None = None


async def get_repo_health(slug: str) -> RepoHealth:
    """Return what was last seen of a skill's source; UNKNOWN when nobody looked lately."""
    stored = await get_record(_REPO_HEALTH + slug, RepoHealth)
    if stored is None:
        return RepoHealth(status=RepoStatus.UNKNOWN, checked_at=get_now())
    return stored.record


async def put_repo_health(slug: str, health: RepoHealth) -> None:
    expires_at = health.checked_at + REPO_HEALTH_TTL
    await commit([Put(_REPO_HEALTH + slug, encode(health), due=NEVER, expires_at=expires_at)])
