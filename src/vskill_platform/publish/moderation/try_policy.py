"""What would change under another policy: decided anew from the stored reports, nothing scanned."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.model.decision import (
    Decision,
    Outcome,
    Subject,
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


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that would go another way."""

    #: The slug, or where it comes from if it was never published.
    skill: str
    submission_id: str
    #: Where it is: published, or waiting for a person.
    now: Outcome
    then: Outcome
    #: What of the policy would decide, and because of which findings.
    clause: str
    reasons: tuple[str, ...]


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    policy: str
    published: int
    in_review: int
    changes: tuple[Change, ...]
    #: Whose stored report is gone, or is about other content than what is published.
    unknown: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Count the changes by where they lead from and to."""
        return dict(Counter(f"{one.now} to {one.then}" for one in self.changes))


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in the files of a skill."""

    name: str
    submission: Submission
    report: Report
    #: None where nobody knows any more how large they are.
    files: tuple[SkillFile, ...] | None
    now: Outcome


async def try_policy(policy: Policy) -> DryRun:
    """Decide about all that is published and all that waits, as if *policy* held."""
    slugs, waiting = await list_slugs(), await get_waiting_reviews()
    published = await settle(_published, slugs)
    reviews = await settle(_in_review, waiting)
    named = [
        *zip(slugs, published, strict=True),
        *zip([item.id for item in waiting], reviews, strict=True),
    ]
    return DryRun(
        policy=digest_of(policy),
        published=sum(outcome is not None for outcome in published),
        in_review=len(waiting),
        changes=tuple(_changes([one for _, one in named if isinstance(one, _Known)], policy)),
        unknown=tuple(
            name for name, one in named if one is not None and not isinstance(one, _Known)
        ),
    )


async def _published(slug: str) -> _Known | str | None:
    """Return what is known of a published skill; None if it is not listed any more."""
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


def _changes(known: Sequence[_Known], policy: Policy) -> list[Change]:
    found = []
    for one in known:
        subject = subject_of(one.submission, skill_name=one.submission.skill_name)
        then = _decide(one, policy, subject)
        # What a person has approved is published though a policy would ask for one: that the new
        # policy would too is no change.
        today = _decide(one, bound_env().policy, subject)
        is_settled = one.now is Outcome.PUBLISH and then.outcome is today.outcome
        if then.outcome is not one.now and not is_settled:
            found.append(
                Change(
                    skill=one.name,
                    submission_id=one.submission.id,
                    now=one.now,
                    then=then.outcome,
                    clause=then.clause,
                    reasons=then.reasons,
                )
            )
    return sorted(found, key=lambda change: (change.now, change.then, change.skill))


def _decide(one: _Known, policy: Policy, subject: Subject) -> Decision:
    report = one.report
    if one.files is not None:
        limits = policy.within(subject.namespaces).limits
        report = msgspec.structs.replace(
            report, findings=resized(report.findings, one.files, limits)
        )
    return decide(report, policy, subject, today=get_now().date())
