"""Cron job: check whether the repos of published skills still exist, a few per run."""

from datetime import datetime

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.fetch.probe_repo import ProbeResult, RepoProbe, probe_repo
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.repo_health_store import (
    GONE_AFTER,
    MISSES_UNTIL_GONE,
    STALE_AFTER,
    RepoHealth,
    RepoStatus,
    get_last_check,
    list_checked_slugs,
    list_due_checks,
    put_repo_health,
)
from vskill_platform.stores.skill_store import get_skill, list_slugs
from vskill_platform.stores.submission_store import get_submission

log = get_logger(__name__)

#: How many skills one run checks at most; the rest stays due.
SKILLS_A_RUN = 500
_REPOS_AT_ONCE = 4
#: No check starts after this, so that the last ones finish within the job's budget.
_SECONDS_A_RUN = 40.0


class _Checked(msgspec.Struct, frozen=True):
    """The published skills of a repo."""

    slug: str
    source: Source
    tree_sha: str | None


async def check_repo_health() -> str:
    """Check the repos that are due; one check serves all skills of a repo."""
    slugs = await list_due_checks(get_now(), limit=SKILLS_A_RUN)
    if len(slugs) < SKILLS_A_RUN:
        fresh = sorted(set(await list_slugs()) - await list_checked_slugs())
        slugs += fresh[: SKILLS_A_RUN - len(slugs)]
    repos: dict[tuple[str, str], list[_Checked]] = {}
    for slug in slugs:
        published = await _published(slug)
        if published:
            repos.setdefault((published.source.url, published.source.ref), []).append(published)
    stopwatch, looked_at, errors = Stopwatch(), 0, 0

    async def check_in_time(skills: list[_Checked]) -> None:
        nonlocal looked_at
        if stopwatch.total_seconds < _SECONDS_A_RUN:
            looked_at += 1
            await _check_repo(skills)

    for outcome in await settle(check_in_time, repos.values(), at_once=_REPOS_AT_ONCE):
        if isinstance(outcome, Exception):
            errors += 1
            log.error("repo not checked", error=repr(outcome))
    return f"{looked_at} of {count_of(len(repos), 'repo')} checked, {errors} failed"


async def _published(slug: str) -> _Checked | None:
    """Return a skill's source; one without a repo, or deleted, is not checked again soon."""
    skill = await get_skill(slug)
    stored = await get_submission(skill.record.submission_id) if skill else None
    if stored is None or stored.record.source.kind is not SourceKind.GIT:
        note = "it was uploaded, so it has no repository" if stored else "it is no longer published"
        unknown = RepoHealth(status=RepoStatus.UNKNOWN, checked_at=get_now(), note=note)
        await put_repo_health(slug, unknown, is_final=True)
        return None
    return _Checked(slug, stored.record.source, stored.record.tree_sha)


async def _check_repo(skills: list[_Checked]) -> None:
    source = skills[0].source
    paths = {skill.source.path for skill in skills}
    look = await probe_repo(source, paths, reach_of(get_settings()))
    for skill in skills:
        last = await get_last_check(skill.slug)
        now_there = look.trees.get(skill.source.path)
        has_moved = look.result is ProbeResult.FOUND and now_there != skill.tree_sha
        health = health_from(look, last, has_moved=has_moved, now=get_now())
        await put_repo_health(skill.slug, health)


def health_from(
    look: RepoProbe, last: RepoHealth | None, *, has_moved: bool, now: datetime
) -> RepoHealth:
    """Combine a check with earlier ones; a single failure never makes a repo GONE."""
    if look.result is ProbeResult.FOUND:
        made_at = min(look.committed_at, now) if look.committed_at else None
        is_old = made_at is not None and now - made_at > STALE_AFTER
        return RepoHealth(
            status=RepoStatus.STALE if is_old else RepoStatus.ONLINE,
            checked_at=now,
            last_commit_at=made_at,
            has_moved=has_moved,
        )
    known = last or RepoHealth(status=RepoStatus.UNKNOWN, checked_at=now)
    unknown = msgspec.structs.replace(
        known, status=RepoStatus.UNKNOWN, checked_at=now, note=look.note, was_looked=True
    )
    if look.result is ProbeResult.NONE:  # inconclusive, so the earlier status stays
        return unknown
    since, misses = known.missing_since or now, known.misses + 1
    is_gone = misses >= MISSES_UNTIL_GONE and now - since >= GONE_AFTER
    return msgspec.structs.replace(
        unknown,
        status=RepoStatus.GONE if is_gone else RepoStatus.UNKNOWN,
        missing_since=since,
        misses=misses,
    )
