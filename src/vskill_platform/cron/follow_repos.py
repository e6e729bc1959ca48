"""Cron job: look for new commits in followed repositories, and submit the skills they changed.

A commit is recorded as seen in the same database commit that queues its submission. So a commit is
submitted once, also by two nodes and after a crash.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.follow_new_skills import take_new_skills
from vskill_platform.cron.followed_results import (
    check_rights,
    mark_failed,
    mark_seen,
    put_checked,
    stop_following,
    write_checked,
)
from vskill_platform.engines.ports import Operation
from vskill_platform.errors import NotAllowed, Overtaken, SourceError
from vskill_platform.fetch.probe_repo import RepoAnswer, is_missing, probe_repo
from vskill_platform.fetch.reach import Reach, reach_of
from vskill_platform.fetch.repo import find_commit
from vskill_platform.intake.offer import Offer
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import Source, SourceKind, git_source
from vskill_platform.model.submission import STUCK_STATES, Submission
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    get_followed_repo,
    list_due_followed_repos,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import find_skill
from vskill_platform.stores.submission_store import get_source_owner, get_submission

log = get_logger(__name__)

#: How many records one run reads; as many as time allows are checked, the rest stays due.
SKILLS_A_RUN = 500
_HOSTS_AT_ONCE, _READS_AT_ONCE = 4, 8
#: No check starts after this, so that the last ones finish within the job's budget.
_SECONDS_A_RUN = 25.0
#: The longest time of each of the up to three fetches of one check, for the same reason.
_SECONDS_A_FETCH = 25.0
#: The wait while an earlier commit of the skill is being processed.
_WHILE_PENDING = timedelta(minutes=5)


class _Due(NamedTuple):
    followed: Stored[FollowedRepo]
    source: Source
    #: The git tree id of the latest version.
    published_tree: str | None
    is_private: bool


#: The skills of each repository and branch.
_Repos = dict[tuple[str, str], list[_Due]]


async def follow_repos() -> str:
    """Check the followed repositories that are due; one check serves all skills of a repo."""
    repos, errors = await _list_due_repos()
    stopwatch, looked_at, submitted = Stopwatch(), 0, 0

    async def check_in_time(skills: list[_Due]) -> None:
        nonlocal looked_at, submitted
        if stopwatch.total_seconds < _SECONDS_A_RUN:
            looked_at += 1
            submitted += await _check_repo(skills)

    async def check_host(of_host: _Repos) -> None:
        nonlocal errors
        at_once = max(1, get_settings().fetches_per_host)
        for outcome in await settle(check_in_time, of_host.values(), at_once=at_once):
            if isinstance(outcome, Exception):
                errors += 1
                log.error("followed repo not checked", error=repr(outcome))

    for outcome in await settle(check_host, repos.values(), at_once=_HOSTS_AT_ONCE):
        if isinstance(outcome, Exception):
            raise outcome
    total = count_of(sum(map(len, repos.values())), "repo")
    return f"{looked_at} of {total} checked, {submitted} submitted, {errors} failed"


async def _list_due_repos() -> tuple[dict[str, _Repos], int]:
    """Return the repositories of each host, and how many records could not be read."""
    repos: dict[str, _Repos] = {}
    errors = 0
    records = await list_due_followed_repos(get_now(), limit=SKILLS_A_RUN)
    for due in await settle(_find_due, [one.name for one in records], at_once=_READS_AT_ONCE):
        if isinstance(due, Exception):  # of one damaged record, which must not stop the others
            errors += 1
            log.error("followed repo not checked", error=repr(due))
        elif due:
            key = (due.source.url, due.source.ref)
            host = urlsplit(due.source.url).netloc
            repos.setdefault(host, {}).setdefault(key, []).append(due)
    return repos, errors


async def _find_due(name: str) -> _Due | None:
    """Return what to check; None, and following stops, if a skill is not there anymore."""
    followed = await get_followed_repo(name)
    if followed is None:
        return None
    if not followed.record.slug:
        source = git_source(followed.record.repo_url, ref=followed.record.ref)
        return _Due(followed, source, None, is_private=False)
    slug = followed.record.slug
    _, skill = await find_skill(slug)
    stored = await get_submission(skill.record.submission_id) if skill else None
    if skill is None or stored is None:
        await stop_following(followed, f"{slug} is no longer published")
        return None
    source = stored.record.source
    if source.kind is not SourceKind.GIT or source.url != followed.record.repo_url:
        await stop_following(
            followed, f"{slug} is no longer published from {followed.record.repo_url}"
        )
        return None
    source = msgspec.structs.replace(source, ref=followed.record.ref or source.ref)
    return _Due(followed, source, stored.record.tree_sha, skill.record.is_private)


async def _check_repo(skills: Sequence[_Due]) -> int:
    """Check one branch of a repository for all that is followed; return how many were submitted."""
    source, reach = skills[0].source, reach_of(get_settings())
    reach = msgspec.structs.replace(reach, seconds=min(reach.seconds, _SECONDS_A_FETCH))
    try:
        sha = await find_commit(source, reach)
    except SourceError as error:
        for due in skills:
            await mark_failed(due.followed, str(error), is_gone=is_missing(error, source))
        return 0
    submitted = 0
    for due in skills:
        if not due.followed.record.slug:
            submitted += await take_new_skills(due.followed, due.source, sha, reach)
    return submitted + await _check_skills(
        [due for due in skills if due.followed.record.slug], sha, reach
    )


async def _check_skills(skills: Sequence[_Due], sha: str, reach: Reach) -> int:
    """Submit the skills whose folder has changed; return how many."""
    changed = [due for due in skills if due.followed.record.commit_sha != sha]
    for due in skills:
        if due not in changed:
            # A skill that left the repository is still missing at the same commit.
            await put_checked(
                due.followed, mark_seen(due.followed.record, sha, due.followed.record.problem)
            )
    if not changed:
        return 0
    look = await probe_repo(changed[0].source, {due.source.path for due in changed}, reach)
    if look.answer is not RepoAnswer.THERE:
        for due in changed:
            is_gone = look.answer is RepoAnswer.MISSING
            await mark_failed(due.followed, look.note, is_gone=is_gone)
        return 0
    return sum([await _take_commit(due, sha, look.trees.get(due.source.path)) for due in changed])


async def _take_commit(due: _Due, sha: str, tree_sha: str | None) -> bool:
    """Submit a skill at a new commit unless its folder is unchanged; return whether it was."""
    followed, source = due.followed, due.source
    if tree_sha is None:
        problem = f"the folder {source.path!r} is no longer in the repository"
        await put_checked(followed, mark_seen(followed.record, sha, problem))
        return False
    owner = await get_source_owner(source)
    known = await get_submission(owner) if owner else None
    if known and known.record.state in STUCK_STATES:
        await put_checked(
            followed, mark_seen(followed.record, followed.record.commit_sha), _WHILE_PENDING
        )
        return False
    if tree_sha == (known.record.tree_sha if known else due.published_tree):
        await put_checked(followed, mark_seen(followed.record, sha))
        return False
    try:
        may_replace_ref = await check_rights(followed.record, source)
    except NotAllowed as error:
        await stop_following(followed, str(error))
        return False
    offer = Offer(source=source, tree_sha=tree_sha, is_private=due.is_private)
    return await _submit(followed, offer, sha, may_replace_ref=may_replace_ref)


async def _submit(
    followed: Stored[FollowedRepo], offer: Offer, sha: str, *, may_replace_ref: bool
) -> bool:
    record = followed.record

    async def note_commit() -> list[Operation]:
        now = await get_followed_repo(record.slug)
        if now is None or now.revision != followed.revision:
            raise Overtaken(f"another node has checked the repository of {record.slug}")
        return [write_checked(followed, mark_seen(record, sha))]

    try:
        result = await submit(
            offer, submitter=record.by, may_replace_ref=may_replace_ref, also=note_commit
        )
    except Overtaken:  # the other node submits it, or the user stopped following
        return False
    except NotAllowed as error:  # the policy's limit per day, which ends with the day
        await mark_failed(followed, str(error))
        return False
    is_noted = await _has_changed(followed)
    if not is_noted:
        await _note_nothing_new(followed, result.submission, sha)
    log.info("followed repo has a new commit", slug=record.slug, commit=sha, result=result.kind)
    return is_noted


async def _note_nothing_new(
    followed: Stored[FollowedRepo], submission: Submission, sha: str
) -> None:
    """Record the commit after a submission that stored nothing.

    While an older commit is processed, the new one is not seen: the worker may have fetched before.
    """
    if submission.state in STUCK_STATES:
        pending = mark_seen(followed.record, followed.record.commit_sha)
        await put_checked(followed, pending, _WHILE_PENDING)
    else:
        await put_checked(followed, mark_seen(followed.record, sha))


async def _has_changed(followed: Stored[FollowedRepo]) -> bool:
    now = await get_followed_repo(followed.record.slug)
    return now is None or now.revision != followed.revision
