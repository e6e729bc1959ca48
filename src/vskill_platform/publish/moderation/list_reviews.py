"""List submissions that need review, oldest first, and load the details of one."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import Capabilities, SkillFile, new_capabilities
from vskill_platform.model.submission import StateEvent, Submission
from vskill_platform.model.verdict import Finding, Report
from vskill_platform.publish.moderation.hold_skill import opened_held_skill
from vskill_platform.publish.versions.compare_skill import Difference, diff_copy
from vskill_platform.publish.versions.diff_versions import (
    ComparedSide,
    FileChange,
    diff_packed,
    pack_of,
)
from vskill_platform.stores.db import get_now
from vskill_platform.stores.held_store import get_held, get_held_files
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.similarity_store import get_similarity_record
from vskill_platform.stores.skill_store import get_latest_version, get_skill, resolve_slug
from vskill_platform.stores.submission_store import (
    get_history,
    get_submission,
    get_waiting_reviews,
)


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the list."""

    id: str
    skill: str
    #: The slug of the published skill; None if it is new.
    slug: str | None
    source: str
    path: str
    submitter: str
    since: datetime
    waits_for: timedelta
    #: The clause of the policy that requires a review, or the failure.
    decided: str
    #: The most severe finding; None without a report.
    finding: Finding | None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a reviewer needs for a decision."""

    submission: Submission
    history: list[StateEvent]
    report: Report | None
    #: The checked files; empty if they are no longer stored.
    files: tuple[SkillFile, ...]
    #: The latest published version, and the differences.
    published: str | None
    difference: Difference | None
    gained: Capabilities
    lost: Capabilities


async def list_reviews() -> list[Review]:
    """Return all submissions that need review, longest waiting first."""
    waiting = await get_waiting_reviews()
    reports = await settle(lambda submission: get_report(submission.id), waiting)
    return [
        _review(submission, report if isinstance(report, Report) else None)
        for submission, report in zip(waiting, reports, strict=True)
    ]


async def get_case(submission_id: str) -> Case:
    """Return the data of a submission that needs or needed review."""
    stored = await get_submission(submission_id)
    if stored is None:
        raise NotFound(f"there is no submission {submission_id!r}; run `reviews` to list them")
    submission, report = stored.record, await get_report(submission_id)
    slug = await resolve_slug(submission.slug or submission.source.slug_of(submission.skill_name))
    published = await get_skill(slug)
    files, difference = await _compare(submission, slug if published else None)
    old = await get_similarity_record(slug) if published else None
    before = old.sketch.capabilities if old else {}
    now = report.capabilities if report else {}
    return Case(
        submission=submission,
        history=await get_history(submission_id),
        report=report,
        files=files,
        published=f"{slug} {published.record.version}" if published else None,
        difference=difference,
        gained=new_capabilities(before, now) if published else {},
        lost=new_capabilities(now, before) if published else {},
    )


async def diff_to_published(case: Case) -> tuple[FileChange, ...]:
    """Compare the checked files with the latest published version, line by line."""
    slug = (case.published or "").rpartition(" ")[0]
    latest, held = await get_latest_version(slug), await get_held(case.submission.id)
    if latest is None or held is None or held.record.digest != case.submission.digest:
        raise NotFound("one of the two versions is no longer stored")

    async def load() -> bytes:
        archive = await get_held_files(held.record)
        if archive is None:
            raise NotFound("the checked files are no longer stored")
        return archive

    checked = ComparedSide(held.record.files, held.record.archive_sha256, load)
    return await diff_packed(pack_of(latest), checked)


async def _compare(
    submission: Submission, slug: str | None
) -> tuple[tuple[SkillFile, ...], Difference | None]:
    try:
        async with opened_held_skill(submission) as snapshot:
            difference = await diff_copy(slug, snapshot) if slug else None
            return snapshot.files, difference
    except NotFound:
        return (), None


def _review(submission: Submission, report: Report | None) -> Review:
    findings: Sequence[Finding] = report.findings if report else ()
    return Review(
        id=submission.id,
        skill=submission.skill_name,
        slug=submission.slug,
        source=submission.repo_url,
        path=submission.skill_path,
        submitter=submission.submitter,
        since=submission.updated_at,
        waits_for=max(get_now() - submission.updated_at, timedelta(0)),
        decided=(report.decided if report else "") or submission.reason,
        finding=findings[0] if findings else None,
    )
