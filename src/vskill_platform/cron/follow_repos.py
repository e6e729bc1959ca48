"""Cron job: look for new commits and tags in followed repositories, and submit changed skills.

A commit is recorded as seen in the same database commit that queues its submission. So each commit
is submitted once, even if a node crashes or two nodes find it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.follow_new_skills import take_new_skills
from vskill_platform.cron.record_repo_checks import mark_failed, postpone, stop_following
from vskill_platform.cron.submit_new_commits import (
    DueRepo,
    check_commits,
    check_tags,
    is_new_tag,
    newest_tag,
)
from vskill_platform.errors import RecordMalformed, SourceError, SourceRefused
from vskill_platform.fetch.allowed_sources import Reach, reach_of
from vskill_platform.fetch.probe_repo import is_missing
from vskill_platform.fetch.repo import Refs, find_refs
from vskill_platform.model.skill import version_of_tag
from vskill_platform.model.source import Source, SourceKind, git_source
from vskill_platform.stores.db import check_free_space, get_now, get_settings
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    get_followed_repo,
    list_due_followed_repos,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import find_skill
from vskill_platform.stores.submission_store import get_submission

log = get_logger(__name__)

#: How many records one run reads; those that it has no time to check stay due.
SKILLS_A_RUN = 500
_HOSTS_AT_ONCE, _READS_AT_ONCE = 4, 8
#: No check starts after this, so that the last ones finish within the job's budget.
_SECONDS_A_RUN = 25.0
#: The time limit of a fetch, of which a check makes up to three, for the same reason.
_SECONDS_A_FETCH = 25.0
#: After this time, someone else may have created a repository with the same name.
_TRUSTED_WHILE_MISSING = timedelta(days=1)


#: The skills of each repository and branch.
_Repos = dict[tuple[str, str], list[DueRepo]]


class _Run(msgspec.Struct):
    """One run of the job."""

    stopwatch: Stopwatch
    #: The names of the records that were due.
    names: set[str] = msgspec.field(default_factory=set)
    due: int = 0
    checked: int = 0
    submitted: int = 0
    errors: int = 0

    async def check(self, repos: dict[str, _Repos]) -> None:
        """Check the repositories of each host; one host that is slow does not delay the others."""
        self.due += sum(map(len, repos.values()))
        for outcome in await settle(self._check_host, repos.values(), at_once=_HOSTS_AT_ONCE):
            if isinstance(outcome, Exception):
                raise outcome

    async def _check_host(self, of_host: _Repos) -> None:
        at_once = max(1, get_settings().fetches_per_host)
        for outcome in await settle(self._check_in_time, of_host.values(), at_once=at_once):
            if isinstance(outcome, Exception):
                self.errors += 1
                log.error("followed repo not checked", error=repr(outcome))

    async def _check_in_time(self, skills: list[DueRepo]) -> None:
        if self.stopwatch.total_seconds < _SECONDS_A_RUN:
            self.checked += 1
            self.submitted += await _check_repo(skills)


async def follow_repos() -> str:
    """Check the followed repositories that are due; one check serves all skills of a repo."""
    run = _Run(stopwatch=Stopwatch())
    repos = await _list_due_repos(run)
    if repos:
        await check_free_space()  # do not fetch what cannot be stored
        await run.check(repos)
        # The run may have begun to follow new skills, which are due at once.
        await run.check(await _list_due_repos(run))
    total = count_of(run.due, "repo")
    return f"{run.checked} of {total} checked, {run.submitted} submitted, {run.errors} failed"


async def _list_due_repos(run: _Run) -> dict[str, _Repos]:
    """Return the repositories, by host, that became due since the last call."""
    repos: dict[str, _Repos] = {}
    due_now = await list_due_followed_repos(get_now(), limit=SKILLS_A_RUN)
    names = [name for name in due_now if name not in run.names]
    run.names.update(names)
    outcomes = await settle(_find_due, names, at_once=_READS_AT_ONCE)
    for name, due in zip(names, outcomes, strict=True):
        if isinstance(due, Exception):  # a damaged record must not stop the others
            run.errors += 1
            log.error("followed repo not checked", slug=name, error=repr(due))
            if isinstance(due, RecordMalformed):
                await postpone(name, due)
        elif due:
            key = (due.source.url, due.source.ref)
            host = urlsplit(due.source.url).netloc
            repos.setdefault(host, {}).setdefault(key, []).append(due)
    return repos


async def _find_due(name: str) -> DueRepo | None:
    """Return what to check; if the skill is gone, stop following it and return None."""
    followed = await get_followed_repo(name)
    if followed is None:
        return None
    if not followed.record.slug:
        source = git_source(followed.record.repo_url, ref=followed.record.ref)
        return DueRepo(followed, source, None, is_private=False)
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
    source = msgspec.structs.replace(source, ref=_ref_of(followed.record, source))
    return DueRepo(followed, source, stored.record.tree_sha, skill.record.is_private)


def _ref_of(followed: FollowedRepo, published: Source) -> str:
    """Return the branch to check; if a tag was published since, the branch followed before."""
    if followed.ref:
        return followed.ref
    is_tag = version_of_tag(published.ref) is not None
    return followed.branch if is_tag and followed.branch is not None else published.ref


async def _check_repo(skills: Sequence[DueRepo]) -> int:
    """Check one branch for all its followed skills; return how many were submitted."""
    source, reach = skills[0].source, reach_of(get_settings())
    reach = msgspec.structs.replace(reach, seconds=min(reach.seconds, _SECONDS_A_FETCH))
    try:
        with_tags = any(due.followed.record.follows_tags for due in skills)
        refs = await _find_refs(source, reach, with_tags=with_tags)
    except SourceError as error:
        # Other errors do not show that it is back: a new repository has no commits at first.
        is_gone = is_missing(error, source) or None
        for due in skills:
            await mark_failed(due.followed, str(error), is_gone=is_gone)
        return 0
    skills = [same for due in skills if (same := await _trusted(due, refs))]
    submitted = 0
    for due in skills:
        if not due.followed.record.slug:
            submitted += await take_new_skills(due.followed, due.source, refs, reach)
    of_skills = [due for due in skills if due.followed.record.slug]
    tags, rest = await check_tags(of_skills, refs, reach)
    if refs.commit_sha:
        return submitted + tags + await check_commits(rest, refs.commit_sha, reach)
    for due in rest:
        await mark_failed(due.followed, f"the repo has no tag {source.ref!r} any more")
    return submitted + tags


async def _find_refs(source: Source, reach: Reach, *, with_tags: bool) -> Refs:
    """Return the commit and the tags; the tags alone if the followed version tag was deleted."""
    try:
        return await find_refs(source, reach, with_tags=with_tags)
    except SourceRefused:
        if not with_tags or not version_of_tag(source.ref):
            raise
        branch = msgspec.structs.replace(source, ref="")
        refs = await find_refs(branch, reach, with_tags=True)
        if source.ref in refs.tags:
            raise
        return Refs("", refs.tags)


async def _trusted(due: DueRepo, refs: Refs) -> DueRepo | None:
    """Return what to check; None, and stop, if it was missing for long and has something new.

    Everyone who has a clone can publish the same commits again, so they do not prove that the
    repository still belongs to the same people. Only something new is submitted, so until then the
    absence is recorded.
    """
    record = due.followed.record
    since = record.was_missing_since or _missing_for_long(record)
    if since is None:
        return due
    if refs.commit_sha == record.commit_sha and not is_new_tag(record, newest_tag(refs)):
        noted = msgspec.structs.replace(record, was_missing_since=since)
        return due._replace(followed=Stored(noted, due.followed.revision))
    await stop_following(
        due.followed,
        f"the repository was missing since {since:%Y-%m-%d} and is back with other "
        "commits or tags; make sure that it is still yours, then follow it again",
    )
    return None


def _missing_for_long(followed: FollowedRepo) -> datetime | None:
    """Return since when a repository was missing, if that was for longer than it is trusted."""
    since = followed.missing_since
    return since if since and get_now() - since >= _TRUSTED_WHILE_MISSING else None
