"""Evaluate a policy on the stored reports, without a new scan, to list what it would change."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

import msgspec

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.settle import settle
from vskill_platform.model.decision import (
    Decision,
    Outcome,
    PolicySubject,
    decide,
    resized,
    subject_of,
)
from vskill_platform.model.policy import Policy, digest_of
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Report
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.held_store import get_held
from vskill_platform.stores.scan_store import get_report, get_report_on
from vskill_platform.stores.skill_store import get_latest_version, get_skill, list_slugs
from vskill_platform.stores.submission_store import get_submission, get_waiting_reviews

#: How many skills are evaluated in one part, which takes about a second.
PART = 500


class OutcomeChange(msgspec.Struct, frozen=True, kw_only=True):
    """A skill whose result would change."""

    #: The slug, or the source if it was never published.
    skill: str
    submission_id: str
    #: Its current state: published, or in review.
    now: Outcome
    then: Outcome
    #: The clause of the policy that would decide, with its findings.
    clause: str
    reasons: tuple[str, ...]


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    policy: str
    published: int
    in_review: int
    changes: tuple[OutcomeChange, ...]
    #: Skills without a stored report on the published content.
    unknown: tuple[str, ...]
    #: How many skills were evaluated so far, of all.
    checked: int = 0
    total: int = 0
    #: Where the next part starts; None after the last.
    cursor: str | None = None

    def counts(self) -> dict[str, int]:
        """Count the changes by old and new state."""
        return dict(Counter(f"{one.now} to {one.then}" for one in self.changes))


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """The findings about the files of a skill."""

    name: str
    submission: Submission
    report: Report
    #: None if their sizes are unknown.
    files: tuple[SkillFile, ...] | None
    now: Outcome


async def try_policy(
    policy: Policy, *, on_progress: Callable[[int, int], None] = lambda _done, _total: None
) -> DryRun:
    """Decide about all skills that are published or in review, as if *policy* applied."""
    subjects = await _list_subjects()
    parts: list[DryRun] = []
    for start in range(0, len(subjects), PART):
        parts.append(await _try(policy, subjects[start : start + PART]))
        on_progress(min(start + PART, len(subjects)), len(subjects))
    changes = [change for part in parts for change in part.changes]
    return DryRun(
        policy=digest_of(policy),
        published=sum(part.published for part in parts),
        in_review=sum(part.in_review for part in parts),
        changes=tuple(sorted(changes, key=_order)),
        unknown=tuple(name for part in parts for name in part.unknown),
        checked=len(subjects),
        total=len(subjects),
    )


async def try_part(policy: Policy, *, after: str = "", limit: int = PART) -> DryRun:
    """Decide about a part of them; the cursor in the result starts the next part."""
    subjects = await _list_subjects()
    start = bisect_right([one.key for one in subjects], after)
    chosen = subjects[start : start + limit]
    found = await _try(policy, chosen)
    end = start + len(chosen)
    return msgspec.structs.replace(
        found,
        checked=end,
        total=len(subjects),
        cursor=chosen[-1].key if chosen and end < len(subjects) else None,
    )


class _Subject(NamedTuple):
    #: The sort key, after which the next part can start.
    key: str
    #: A slug, or a submission in review.
    what: str | Submission


async def _list_subjects() -> list[_Subject]:
    """Return all skills in review and all published skills, ordered by key."""
    waiting = [_Subject(f"1 {item.id}", item) for item in await get_waiting_reviews()]
    return sorted(
        [*waiting, *(_Subject(f"2 {slug}", slug) for slug in await list_slugs())],
        key=lambda one: one.key,
    )


async def _try(policy: Policy, subjects: Sequence[_Subject]) -> DryRun:
    found = await settle(_look_at, [one.what for one in subjects])
    named = [(one.key[2:], item) for one, item in zip(subjects, found, strict=True)]
    known = [item for _, item in named if isinstance(item, _Known)]
    changes = await in_few_threads(
        partial(_changes, known, policy, bound_env().policy, get_now().date())
    )
    return DryRun(
        policy=digest_of(policy),
        published=sum(
            isinstance(one.what, str) and item is not None
            for one, item in zip(subjects, found, strict=True)
        ),
        in_review=sum(isinstance(one.what, Submission) for one in subjects),
        changes=tuple(changes),
        unknown=tuple(
            name for name, item in named if item is not None and not isinstance(item, _Known)
        ),
    )


async def _look_at(what: str | Submission) -> _Known | str | None:
    return await (_in_review(what) if isinstance(what, Submission) else _published(what))


async def _published(slug: str) -> _Known | str | None:
    """Return the findings about a published skill; None if it is no longer listed."""
    stored = await get_skill(slug)
    if stored is None or stored.record.down:
        return None
    skill = stored.record
    submission = await get_submission(skill.submission_id)
    report = await get_report_on(skill.submission_id, skill.digest)
    if submission is None or report is None:
        return slug
    latest = await get_latest_version(slug)
    return _Known(
        name=slug,
        submission=submission.record,
        report=report,
        files=latest.files if latest and latest.digest == skill.digest else None,
        now=Outcome.PUBLISH,
    )


async def _in_review(submission: Submission) -> _Known | str:
    report, held = await get_report(submission.id), await get_held(submission.id)
    if report is None or report.digest != submission.digest:
        return submission.id
    return _Known(
        name=submission.slug or f"{submission.repo_url} {submission.skill_path}".strip(),
        submission=submission,
        report=report,
        files=held.record.files if held and held.record.digest == report.digest else None,
        now=Outcome.REVIEW,
    )


def _changes(
    known: Sequence[_Known], policy: Policy, current: Policy, today: date
) -> list[OutcomeChange]:
    found = []
    for one in known:
        subject = subject_of(one.submission, skill_name=one.submission.skill_name)
        then = _decide(one, policy, subject, today)
        # A reviewer approved it although the policy asks for a review. If the new policy also does,
        # that is not a change.
        present = _decide(one, current, subject, today)
        is_settled = one.now is Outcome.PUBLISH and then.outcome is present.outcome
        if then.outcome is not one.now and not is_settled:
            found.append(
                OutcomeChange(
                    skill=one.name,
                    submission_id=one.submission.id,
                    now=one.now,
                    then=then.outcome,
                    clause=then.clause,
                    reasons=then.reasons,
                )
            )
    return sorted(found, key=_order)


def _order(change: OutcomeChange) -> tuple[str, str, str]:
    return (change.now, change.then, change.skill)


def _decide(one: _Known, policy: Policy, subject: PolicySubject, today: date) -> Decision:
    report = one.report
    if one.files is not None:
        limits = policy.within(subject.namespaces).limits
        report = msgspec.structs.replace(
            report, findings=resized(report.findings, one.files, limits)
        )
    return decide(report, policy, subject, today=today)
