"""Whether a skill's source is still there. An outage is UNKNOWN, never GONE."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.engines.ports import ABSENT, NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit, get_kv, get_now
from vskill_platform.stores.records import encode, get_record, list_all_keys

_REPO_HEALTH = "repo-health:"
#: What was seen longer ago says nothing about today.
REPO_HEALTH_TTL = timedelta(hours=24)
#: Then it is looked at again, in time before the last look has lost its meaning.
_CHECK_AGAIN = timedelta(hours=20)
#: The same after a look that saw nothing.
_TRY_AGAIN = timedelta(hours=1)
#: The same after a look at a host that knows no such repo.
_MISS_AGAIN = timedelta(hours=8)
#: How long it is remembered that a repo was missing, if nobody looks any more.
_KEPT_FOR = timedelta(days=60)
#: Without a commit for so long nobody seems to care for it.
STALE_AFTER = timedelta(days=365)
#: So often, and over so long, a host must say that a repo is not there.
MISSES_UNTIL_GONE = 3
GONE_AFTER = timedelta(days=2)


class RepoStatus(StrEnum):
    ONLINE = "ONLINE"
    STALE = "STALE"
    GONE = "GONE"
    UNKNOWN = "UNKNOWN"


class RepoHealth(Record, frozen=True, kw_only=True):
    status: RepoStatus
    checked_at: datetime
    last_commit_at: datetime | None = None
    #: Whether the skill's folder is another now than the one that was last checked.
    has_moved: bool = False
    #: Since when, and how often in a row, the host says that it is not there.
    missing_since: datetime | None = None
    misses: int = 0
    #: Why nothing is known, in words.
    note: str = ""
    #: False while somebody has asked for the first look and nobody has taken it.
    was_looked: bool = True


async def get_repo_health(slug: str) -> RepoHealth:
    """Return what was last seen of a skill's source; UNKNOWN when nobody looked lately."""
    last = await get_last_look(slug)
    now = get_now()
    if last is None or not last.was_looked:
        return RepoHealth(status=RepoStatus.UNKNOWN, checked_at=now, was_looked=False)
    if now - last.checked_at > REPO_HEALTH_TTL:
        note = f"nobody has looked since {last.checked_at:%Y-%m-%d %H:%M} UTC"
        return msgspec.structs.replace(last, status=RepoStatus.UNKNOWN, note=note)
    return last


async def view_repo_health(slug: str) -> RepoHealth:
    """Return what is known, at once; if that is nothing, the next run of the cron looks.

    Nobody who opens a page waits for a host, and no look is lost with the page that asked for it.
    """
    health = await get_repo_health(slug)
    if health.status is RepoStatus.UNKNOWN:
        await _ask_for_look(slug)
    return health


async def get_last_look(slug: str) -> RepoHealth | None:
    """Return what was last seen, however long ago."""
    stored = await get_record(_REPO_HEALTH + slug, RepoHealth)
    return stored.record if stored else None


async def list_due_looks(now: datetime, *, limit: int) -> list[str]:
    """Return the slugs whose sources deserve a look, the longest overdue first."""
    page = await get_kv().list_keys(_REPO_HEALTH, limit=limit, due_before=now)
    return [key[len(_REPO_HEALTH) :] for key in page.keys]


async def list_known_looks() -> set[str]:
    """Return the slugs whose sources somebody has looked at, or is to look at."""
    return {key[len(_REPO_HEALTH) :] for key in await list_all_keys(_REPO_HEALTH)}


async def put_repo_health(slug: str, health: RepoHealth, *, is_final: bool = False) -> None:
    """Write down a look and when the next is due; with *is_final* none is until it is forgotten."""
    unknown = _MISS_AGAIN if health.misses else _TRY_AGAIN
    due = health.checked_at + (unknown if health.status is RepoStatus.UNKNOWN else _CHECK_AGAIN)
    await commit([_put(slug, health, due=NEVER if is_final else due)])


async def _ask_for_look(slug: str) -> None:
    """Make the record due, unless that was just done: many may open one page."""
    now = get_now()
    stored = await get_record(_REPO_HEALTH + slug, RepoHealth)
    if stored is None:
        unknown = RepoHealth(status=RepoStatus.UNKNOWN, checked_at=now, was_looked=False)
        await commit([_put(slug, unknown, due=now, expected=ABSENT)])
    elif now - stored.record.checked_at > _TRY_AGAIN:
        await commit([_put(slug, stored.record, due=now, expected=stored.revision)])


def _put(slug: str, health: RepoHealth, *, due: datetime, expected: int | None = None) -> Put:
    return Put(
        _REPO_HEALTH + slug,
        encode(health),
        expected=expected,
        due=due,
        expires_at=health.checked_at + _KEPT_FOR,
    )
