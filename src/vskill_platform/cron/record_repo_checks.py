"""Record the checks of followed repositories: commits seen, failures, and the next check."""

import random
from datetime import datetime, timedelta

import msgspec

from vskill_platform.access.namespaces import check_may_act_in, check_may_publish_ref
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import NEVER, Operation
from vskill_platform.errors import NotAllowed, RecordMalformed
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.rights import STAFF, Right, Role, Visitor
from vskill_platform.model.source import Source
from vskill_platform.model.user import User
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    get_followed_repo,
    postpone_damaged,
    write_followed_repo,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.user_store import get_user

log = get_logger(__name__)

#: The wait after the first failure; it doubles with each further one.
FIRST_BACK_OFF, MAX_BACK_OFF = timedelta(minutes=15), timedelta(hours=24)
#: Each wait is shortened by up to this fraction, so that repositories are not checked in bursts.
_JITTER = 0.1
_MAX_PROBLEM = 500


async def check_rights(followed: FollowedRepo, source: Source) -> bool:
    """Raise if the user may no longer submit this; return whether they may replace another ref."""
    if followed.is_by_operator:
        return True
    user = await get_user(followed.by)
    if user is None or user.record.is_disabled:
        raise NotAllowed(f"the account {followed.by} is disabled or no longer exists")
    visitor = Visitor(user=_with_rights_of(followed, user.record), via="session")
    if not visitor.may(Right.SUBMIT, get_settings()):
        raise NotAllowed(f"{followed.by} may no longer submit skills")
    await check_may_act_in(visitor, namespace_of(source))
    return await check_may_publish_ref(visitor, source)


def _with_rights_of(followed: FollowedRepo, user: User) -> User:
    """Lower the role of staff to the role with which they requested to follow."""
    is_lower = user.role in STAFF and not followed.is_by_staff
    return msgspec.structs.replace(user, role=Role.PUBLISHER) if is_lower else user


def mark_seen(followed: FollowedRepo, sha: str, problem: str = "") -> FollowedRepo:
    return msgspec.structs.replace(
        followed,
        commit_sha=sha,
        checked_at=get_now(),
        failures=0,
        problem=problem,
        missing_since=None,
    )


async def mark_failed(
    followed: Stored[FollowedRepo], problem: str, *, is_gone: bool | None = False
) -> None:
    """Record a failed check; with None for *is_gone*, it did not show whether the repo exists."""
    record, now = followed.record, get_now()
    since = None if is_gone is False else record.missing_since
    failed = msgspec.structs.replace(
        record,
        checked_at=now,
        failures=record.failures + 1,
        problem=problem[:_MAX_PROBLEM],
        missing_since=(since or now) if is_gone else since,
    )
    log.info("followed repo not readable", slug=record.name, error=failed.problem)
    await put_checked(followed, failed, back_off(failed.failures))


async def postpone(name: str, error: RecordMalformed) -> None:
    """Postpone a repository with a damaged record.

    Otherwise damaged records would always be the most overdue ones, and delay all others.
    """
    try:
        followed = await get_followed_repo(name)
    except RecordMalformed:
        put = await postpone_damaged(name, due=_after(MAX_BACK_OFF))
        await commit([put] if put else [])
        return
    if followed:
        await mark_failed(followed, f"a record in the database is damaged: {error}", is_gone=None)


def back_off(failures: int) -> timedelta:
    """Return the wait after this many failures in a row, without jitter."""
    doublings = min(failures - 1, 10)  # more would only repeat the maximum
    return min(FIRST_BACK_OFF * (1 << doublings), MAX_BACK_OFF)


async def stop_following(followed: Stored[FollowedRepo], reason: str) -> None:
    """Stop following and record why; the record stays, so that its user can see it."""
    stopped = msgspec.structs.replace(
        followed.record, stopped_at=get_now(), problem=reason[:_MAX_PROBLEM]
    )
    name, put = stopped.name, write_followed_repo(stopped, due=NEVER, expected=followed.revision)
    await commit([put, write_audit("repo unfollow", name, actor="cron", reason=stopped.problem)])
    log.warning("followed repo stopped", slug=name, reason=stopped.problem)


async def put_checked(
    followed: Stored[FollowedRepo], changed: FollowedRepo, wait: timedelta | None = None
) -> None:
    """Store the result of a check; if the record has changed since, that change wins."""
    await commit([write_checked(followed, changed, wait)])


def write_checked(
    followed: Stored[FollowedRepo], changed: FollowedRepo, wait: timedelta | None = None
) -> Operation:
    due = _after(wait or get_settings().follow_every)
    return write_followed_repo(changed, due=due, expected=followed.revision)


def _after(wait: timedelta) -> datetime:
    return get_now() + wait * random.uniform(1 - _JITTER, 1)  # noqa: S311 - not a secret
