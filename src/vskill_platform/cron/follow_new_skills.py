"""Submit skills that are new in a followed repository, and follow them once they are published.

Every step can be repeated, because a known skill is not submitted again. A crash before the commit
is recorded only causes a repeated check.
"""

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.record_repo_checks import (
    check_rights,
    mark_failed,
    mark_seen,
    put_checked,
    stop_following,
)
from vskill_platform.cron.submit_new_commits import newest_tag
from vskill_platform.errors import NotAllowed, SourceError, VskillError
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.repo import Refs
from vskill_platform.intake.discover import Discovery, discovered
from vskill_platform.intake.follow_repo import follow_repo, list_skills_from
from vskill_platform.intake.submit import submit
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.source import Source
from vskill_platform.model.submission import Submission
from vskill_platform.stores.followed_repo_store import (
    MAX_SKILLS_OF_A_REPO,
    FollowedRepo,
    get_followed_repo,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.source_submissions import list_submission_ids_of
from vskill_platform.stores.submission_store import read_submissions

log = get_logger(__name__)


async def take_new_skills(
    followed: Stored[FollowedRepo], source: Source, refs: Refs, reach: Reach
) -> int:
    """Submit the skills that have not been submitted yet; return how many."""
    record, sha = followed.record, refs.commit_sha
    published = await list_skills_from(record.repo_url)
    submitted = 0
    if record.commit_sha != sha:
        try:
            await check_rights(record, source)
            async with discovered(source, reach) as discovery:
                submitted = await _submit_unknown(record, discovery, published)
        except NotAllowed as error:
            await stop_following(followed, str(error))
            return 0
        except (SourceError, _LimitReached) as error:
            await mark_failed(followed, str(error))
            return 0
    skills = await _follow_published(record, published)
    tag = newest_tag(refs) if record.follows_tags else None
    seen = msgspec.structs.replace(mark_seen(record, sha), skills=skills, tag=tag)
    await put_checked(followed, seen)
    return submitted


class _LimitReached(VskillError):
    """The policy allows no more submissions today; the rest is submitted later."""


async def _submit_unknown(
    record: FollowedRepo, discovery: Discovery, published: list[PublishedSkill]
) -> int:
    """Submit each valid skill that has no submission yet; return how many."""
    # Other skills of this repository are private: a new one must not become public by default.
    known = await _list_known(record.repo_url)
    is_private = any(skill.is_private for skill in published) or any(
        submission.is_private for submission in known.values()
    )
    submitted = 0
    for skill in discovery.skills:
        request = await discovery.request_for(skill, is_private=is_private)
        if not skill.is_fine or request.source.path in known:
            continue
        may_replace_ref = await check_rights(record, request.source)
        try:
            result = await submit(request, submitter=record.by, may_replace_ref=may_replace_ref)
        except NotAllowed as error:
            raise _LimitReached(str(error)) from error
        submitted += 1
        log.info("followed repo has a new skill", path=skill.path, result=result.kind)
    return submitted


async def _list_known(repo_url: str) -> dict[str, Submission]:
    """Return the submissions of a repository, by the skill's folder."""
    submission_ids = await list_submission_ids_of(repo_url, limit=MAX_SKILLS_OF_A_REPO)
    return {one.source.path: one for one in (await read_submissions(submission_ids)).values()}


async def _follow_published(
    record: FollowedRepo, published: list[PublishedSkill]
) -> tuple[str, ...]:
    """Follow the skills that are published by now; return all skills that were ever followed."""
    once = set(record.skills)
    for skill in published:
        if skill.slug not in once and await get_followed_repo(skill.slug) is None:
            await follow_repo(
                skill,
                ref=record.ref,
                actor=record.by,
                rights=record.rights,
                may_replace=False,
                # Tags since the last check may have newer content than the published version.
                tag=record.tag,
            )
        once.add(skill.slug)
    return tuple(sorted(once))
