"""Submit the skills of a followed repository at a new commit, or at a new version tag."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.record_repo_checks import (
    check_rights,
    mark_failed,
    mark_seen,
    put_checked,
    stop_following,
    write_checked,
)
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotAllowed, Overtaken
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.probe_repo import ProbeResult, probe_repo
from vskill_platform.fetch.repo import Refs
from vskill_platform.intake.submission_request import SubmissionRequest
from vskill_platform.intake.submit import submit
from vskill_platform.model.skill import parse_version, version_of_tag
from vskill_platform.model.source import Source
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission
from vskill_platform.stores.followed_repo_store import FollowedRepo, get_followed_repo
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import get_source_owner, get_submission

log = get_logger(__name__)

#: The wait while an earlier commit of the skill is being processed.
_WHILE_PENDING = timedelta(minutes=5)


class DueRepo(NamedTuple):
    followed: Stored[FollowedRepo]
    source: Source
    #: The git tree id of the latest version.
    published_tree: str | None
    is_private: bool


class _Seen(NamedTuple):
    """The record to store after a submission, and the next wait if it is not the usual one."""

    record: FollowedRepo
    wait: timedelta | None = None


def newest_tag(refs: Refs) -> str:
    """Return the tag with the highest version; "" if no tag names one."""
    tags = [tag for tag in refs.tags if version_of_tag(tag)]
    return max(tags, key=lambda tag: (_version(tag), len(tag), tag), default="")


def is_new_tag(followed: FollowedRepo, tag: str) -> bool:
    """Return whether a tag has a higher version than all tags seen before."""
    is_first = followed.tag is None
    return followed.follows_tags and not is_first and _version(tag) > _version(followed.tag or "")


def _version(tag: str) -> tuple[int, int, int]:
    return parse_version(version_of_tag(tag) or "") or (-1, -1, -1)


async def check_tags(
    skills: Sequence[DueRepo], refs: Refs, reach: Reach
) -> tuple[int, list[DueRepo]]:
    """Submit skills at a new version tag; return how many, and the skills whose commit to check."""
    tag = newest_tag(refs)
    tagged = [due for due in skills if is_new_tag(due.followed.record, tag)]
    rest = [_with_tag(due, tag) for due in skills if due not in tagged]
    if not tagged:
        return 0, rest
    source = msgspec.structs.replace(tagged[0].source, ref=tag)
    look = await probe_repo(source, {due.source.path for due in tagged}, reach)
    if look.result is not ProbeResult.FOUND:
        for due in tagged:
            is_gone = look.result is ProbeResult.MISSING
            await mark_failed(due.followed, look.note, is_gone=is_gone)
        return 0, rest
    submitted = 0
    for due in tagged:
        taken = await _take_tag(due, tag, look.trees.get(due.source.path))
        if taken is None:
            rest.append(_with_tag(due, tag))
        else:
            submitted += taken
    return submitted, rest


def _with_tag(due: DueRepo, tag: str) -> DueRepo:
    """Mark the tag as seen in the record; the check stores the record."""
    record, revision = due.followed.record, due.followed.revision
    if not record.follows_tags or not (record.tag is None or is_new_tag(record, tag)):
        return due
    return due._replace(followed=Stored(msgspec.structs.replace(record, tag=tag), revision))


async def _take_tag(due: DueRepo, tag: str, tree_sha: str | None) -> bool | None:
    """Submit a skill at a new tag; return whether it was submitted, None if there is no need to."""
    followed, record = due.followed, due.followed.record
    source = msgspec.structs.replace(due.source, ref=tag)
    if tree_sha is None:  # the skill is not in this tag
        return None
    if await _is_pending(due):
        await put_checked(followed, mark_seen(record, record.commit_sha), _WHILE_PENDING)
        return False
    if tree_sha in {due.published_tree, await _checked_tree(source)}:
        return None
    try:
        await check_rights(record, due.source)
    except NotAllowed as error:
        await stop_following(followed, str(error))
        return False
    try:
        may_replace_ref = await check_rights(record, source)
    except NotAllowed as error:  # only owners and reviewers may publish another branch or tag
        log.info("tag of a followed repo not submitted", slug=record.slug, reason=str(error))
        return None
    # The branch may have the same content, so its commit is compared after the tag was processed.
    branch = record.branch if version_of_tag(due.source.ref) else due.source.ref
    noted = msgspec.structs.replace(record, tag=tag, branch=branch)
    request = SubmissionRequest(source=source, tree_sha=tree_sha, is_private=due.is_private)
    seen = _Seen(mark_seen(noted, record.commit_sha), _WHILE_PENDING)
    return await _submit(followed, request, seen, may_replace_ref=may_replace_ref)


async def check_commits(skills: Sequence[DueRepo], sha: str, reach: Reach) -> int:
    """Submit the skills whose folder has changed; return how many."""
    # After a failed check the problem in the record may be over, so the folder is looked for again.
    changed = [
        due
        for due in skills
        if due.followed.record.commit_sha != sha or due.followed.record.failures
    ]
    for due in skills:
        if due not in changed:
            # A skill that was removed from the repository is still missing at the same commit.
            await put_checked(
                due.followed, mark_seen(due.followed.record, sha, due.followed.record.problem)
            )
    if not changed:
        return 0
    look = await probe_repo(changed[0].source, {due.source.path for due in changed}, reach)
    if look.result is not ProbeResult.FOUND:
        for due in changed:
            is_gone = look.result is ProbeResult.MISSING
            await mark_failed(due.followed, look.note, is_gone=is_gone)
        return 0
    return sum([await _take_commit(due, sha, look.trees.get(due.source.path)) for due in changed])


async def _take_commit(due: DueRepo, sha: str, tree_sha: str | None) -> bool:
    """Submit a skill at a new commit if its folder has changed; return whether it was submitted."""
    followed, source = due.followed, due.source
    if tree_sha is None:
        problem = f"the folder {source.path!r} is no longer in the repository"
        await put_checked(followed, mark_seen(followed.record, sha, problem))
        return False
    if await _is_pending(due):
        await put_checked(
            followed, mark_seen(followed.record, followed.record.commit_sha), _WHILE_PENDING
        )
        return False
    checked = {await _checked_tree(one) for one in _sources_of(due)}
    if tree_sha in checked | {due.published_tree}:
        await put_checked(followed, mark_seen(followed.record, sha))
        return False
    try:
        may_replace_ref = await check_rights(followed.record, source)
    except NotAllowed as error:
        await stop_following(followed, str(error))
        return False
    request = SubmissionRequest(source=source, tree_sha=tree_sha, is_private=due.is_private)
    seen = _Seen(mark_seen(followed.record, sha))
    return await _submit(followed, request, seen, may_replace_ref=may_replace_ref)


def _sources_of(due: DueRepo) -> list[Source]:
    """Return the sources that following submits: the branch, and the last tag."""
    tag = due.followed.record.tag
    return [due.source, *([msgspec.structs.replace(due.source, ref=tag)] if tag else [])]


async def _is_pending(due: DueRepo) -> bool:
    """Return whether an earlier commit or tag is being processed."""
    for source in _sources_of(due):
        known = await _find_submission(source)
        if known and known.state in IN_PROGRESS_STATES:
            return True
    return False


async def _checked_tree(source: Source) -> str | None:
    known = await _find_submission(source)
    return known.tree_sha if known else None


async def _find_submission(source: Source) -> Submission | None:
    owner = await get_source_owner(source)
    stored = await get_submission(owner) if owner else None
    return stored.record if stored else None


async def _submit(
    followed: Stored[FollowedRepo],
    request: SubmissionRequest,
    seen: _Seen,
    *,
    may_replace_ref: bool,
) -> bool:
    record = followed.record

    async def note_commit() -> list[Operation]:
        now = await get_followed_repo(record.slug)
        if now is None or now.revision != followed.revision:
            raise Overtaken(f"another node has checked the repository of {record.slug}")
        return [write_checked(followed, seen.record, seen.wait)]

    try:
        result = await submit(
            request, submitter=record.by, may_replace_ref=may_replace_ref, also=note_commit
        )
    except Overtaken:  # the other node submits it, or the user stopped following
        return False
    except NotAllowed as error:  # the policy's limit per day, which ends with the day
        await mark_failed(followed, str(error))
        return False
    is_noted = await _has_changed(followed)
    if not is_noted:
        await _note_nothing_new(followed, result.submission, seen)
    log.info(
        "followed repo has new content",
        slug=record.slug,
        ref=request.source.ref,
        commit=seen.record.commit_sha,
        result=result.kind,
    )
    return is_noted


async def _note_nothing_new(
    followed: Stored[FollowedRepo], submission: Submission, seen: _Seen
) -> None:
    """Record the commit after a submission that stored nothing.

    While an older commit is processed, the new one does not count as seen, because the worker may
    have fetched the repository before it.
    """
    if submission.state in IN_PROGRESS_STATES:
        pending = mark_seen(followed.record, followed.record.commit_sha)
        await put_checked(followed, pending, _WHILE_PENDING)
    else:
        await put_checked(followed, seen.record, seen.wait)


async def _has_changed(followed: Stored[FollowedRepo]) -> bool:
    now = await get_followed_repo(followed.record.slug)
    return now is None or now.revision != followed.revision
