"""Health of source repositories: whether they still exist. An outage is UNKNOWN, never GONE."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit, get_kv, get_now
from vskill_platform.stores.records import encode, get_record, list_all_keys

_REPO_HEALTH = "repo-health:"
#: An older result is ignored.
REPO_HEALTH_TTL = timedelta(hours=24)
#: The next check, before the last result expires.
_CHECK_AGAIN = timedelta(hours=20)
#: The same after a check without a result.
_TRY_AGAIN = timedelta(hours=1)
#: The same after a check that found no such repo.
_MISS_AGAIN = timedelta(hours=8)
#: How long a missing repo is remembered without further checks.
_KEPT_FOR = timedelta(days=60)
#: Without a commit for this long a repo is considered unmaintained.
STALE_AFTER = timedelta(days=365)
#: How often, and over how long, a host must report a repo as missing until it counts as gone.
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
    #: Whether the skill's folder has changed since the skill was last checked.
    has_moved: bool = False
    #: Since when, and how often in a row, the host reports it as missing.
    missing_since: datetime | None = None
    misses: int = 0
    #: Why the result is unknown, in words.
    note: str = ""
    #: False until the first check was made.
    was_looked: bool = True


async def get_repo_health(slug: str) -> RepoHealth:
    """Return the last result for a skill's source; UNKNOWN without a recent one."""
    last = await get_last_check(slug)
    now = get_now()
    if last is None or not last.was_looked:
        return RepoHealth(status=RepoStatus.UNKNOWN, checked_at=now, was_looked=False)
    if now - last.checked_at > REPO_HEALTH_TTL:
        note = f"not checked since {last.checked_at:%Y-%m-%d %H:%M} UTC"
        return msgspec.structs.replace(last, status=RepoStatus.UNKNOWN, note=note)
    return last


async def view_repo_health(slug: str) -> RepoHealth:
    """Return the known result at once; if there is none, request a check by the cron job.

    So no page waits for a host, and the check is made even if the visitor leaves.
    """
    health = await get_repo_health(slug)
    if health.status is RepoStatus.UNKNOWN:
        await _request_check(slug)
    return health


async def get_last_check(slug: str) -> RepoHealth | None:
    """Return the last result, however old."""
    stored = await get_record(_REPO_HEALTH + slug, RepoHealth)
    return stored.record if stored else None


async def list_due_checks(now: datetime, *, limit: int) -> list[str]:
    """Return the slugs whose sources are due for a check, most overdue first."""
    page = await get_kv().list_keys(_REPO_HEALTH, limit=limit, due_before=now)
    return [key[len(_REPO_HEALTH) :] for key in page.keys]


async def list_checked_slugs() -> set[str]:
    """Return the slugs with a check, made or requested."""
    return {key[len(_REPO_HEALTH) :] for key in await list_all_keys(_REPO_HEALTH)}


async def put_repo_health(slug: str, health: RepoHealth, *, is_final: bool = False) -> None:
    """Store a result and the time of the next check; with *is_final* there is no next one."""
    unknown = _MISS_AGAIN if health.misses else _TRY_AGAIN
    due = health.checked_at + (unknown if health.status is RepoStatus.UNKNOWN else _CHECK_AGAIN)
    await commit([_put(slug, health, due=NEVER if is_final else due)])


def delete_repo_health(slug: str) -> Operation:
    return Delete(_REPO_HEALTH + slug)


async def _request_check(slug: str) -> None:
    """Make the record due, unless it already is: many visitors may open the same page."""
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
