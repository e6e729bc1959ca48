"""Find a skill; if it belongs to a mirror and is not here yet, fetch and check it first.

A client that requests `@hub_acme/demo` waits a few seconds for its check. If that takes longer, the
response is 503 with Retry-After; if the skill is refused, it says why.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.errors import (
    MirrorPending,
    MirrorRefused,
    NotFound,
    NotPublished,
    NotSignedIn,
    SkillDeleted,
)
from vskill_platform.fetch.mirrors.fetch_mirrored import get_mirror
from vskill_platform.intake.mirror_skill import check_not_deleted, find_mirror_target, mirror_skill
from vskill_platform.intake.mirror_version import mirror_version
from vskill_platform.model.mirror import parse_mirrored
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill, is_version
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission, SubmissionState
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.concurrency_quota import ConcurrencyQuota
from vskill_platform.web.http.rate_limits import RateLimits, quota_key
from vskill_platform.web.http.requests import WebConnection
from vskill_platform.web.http.visitor import visitor_of

#: Some clients allow ten seconds for everything.
_SECONDS_TO_WAIT = 6.0
#: The maximum number of concurrent requests to other registries, which may be slow.
_looks = ConcurrencyQuota(
    in_all=8, each=2, what="asking other registries", retry_after=timedelta(seconds=5)
)
#: How many seconds to wait for the end of a submission.
WaitForEnd = Callable[[str, float], Awaitable[Submission]]


async def find_or_mirror(
    connection: WebConnection, slug: str, version: str | None = None
) -> Stored[PublishedSkill]:
    """Return a skill that this visitor may see; fetch it if it belongs to a mirror and is missing.

    A missing *version* is also fetched; the caller has to check whether it exists then.
    """
    visitor = visitor_of(connection)
    pinned = version if version and is_version(version) else None
    try:
        stored = await find_visible_skill(visitor, slug)
    except NotFound as error:
        if not await _is_to_be_mirrored(slug):
            raise
        if isinstance(error, SkillDeleted):
            await check_not_deleted(find_mirror_target(slug))
        elif await get_deleted_skill(slug):  # do not reveal a private skill
            raise
    else:
        if pinned is None or not await _lacks(stored.record, slug, pinned):
            return stored
    await _mirror(connection, visitor, slug, pinned)
    return await find_visible_skill(visitor, slug)


async def _lacks(skill: PublishedSkill, slug: str, version: str) -> bool:
    """Return whether a version of a mirrored skill may exist only in the other registry."""
    named = parse_mirrored(slug)
    if skill.slug != slug or skill.down or named is None or get_mirror(named.mirror) is None:
        return False
    known = {item.version for item in await get_versions(slug)}
    return version not in known | {mark.version for mark in skill.deleted}


async def _is_to_be_mirrored(slug: str) -> bool:
    """Return whether a slug belongs to a mirror, and not to a private skill."""
    named = parse_mirrored(slug)
    if named is None or get_mirror(named.mirror) is None:
        return False
    return await get_skill(await resolve_slug(slug)) is None


async def _mirror(
    connection: WebConnection, visitor: Visitor, slug: str, version: str | None
) -> None:
    wanted = find_mirror_target(slug)  # refuses before it asks anyone to sign in
    if visitor.user is None and get_settings().mirror_by != "anyone":
        raise NotSignedIn(
            f"{_name(slug, version)} is not here yet; sign in to have it fetched from "
            f"{wanted.mirror.name}"
        )
    limits: RateLimits = connection.app.state.limits
    limits.take_hourly(
        "mirror",
        quota_key(visitor),
        per_hour=get_settings().mirror_requests_per_hour,
        now=get_now(),
    )
    with _looks.held_by(quota_key(visitor)):
        ask = partial(mirror_version, slug, version) if version else partial(mirror_skill, slug)
        submission = await run_with_current_policy(partial(ask, by=visitor.name))
    wait: WaitForEnd | None = connection.app.state.wait_for_end
    if wait and submission.state in IN_PROGRESS_STATES:
        submission = await wait(submission.id, _SECONDS_TO_WAIT)
    check_taken(_name(slug, version), submission)


def _name(slug: str, version: str | None) -> str:
    return f"{slug} {version}" if version else slug


def check_taken(slug: str, submission: Submission) -> None:
    """Raise unless the check of a mirrored skill ended with its publication."""
    if submission.state in IN_PROGRESS_STATES:
        raise MirrorPending(f"{slug} was found and is being checked: submission {submission.id}")
    if submission.state is SubmissionState.NEEDS_REVIEW:
        raise NotPublished(f"{slug} needs review before it is served: submission {submission.id}")
    if submission.state is not SubmissionState.PUBLISHED:
        is_withdrawn = submission.state is SubmissionState.DEQUEUED
        how = "is withdrawn" if is_withdrawn else "was refused by the checks of this registry"
        raise MirrorRefused(
            f"{slug} {how}: {submission.reason} (submission {submission.id})",
            submission_id=submission.id,
        )
