"""Describe a policy as text, and evaluate it on the stored reports without a new scan."""

from collections import Counter
from collections.abc import Sequence
from datetime import date

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
from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    Limits,
    NamespacePolicy,
    Policy,
    Suppression,
    Thresholds,
    Trust,
    digest_of,
)
from vskill_platform.model.scanner import OnFail, ScannerRule
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import FindingKind, Report
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.held_store import get_held
from vskill_platform.stores.scan_store import get_report, get_report_on
from vskill_platform.stores.skill_store import get_latest_version, get_skill, list_slugs
from vskill_platform.stores.submission_store import get_submission, get_waiting_reviews


class Change(msgspec.Struct, frozen=True, kw_only=True):
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
    changes: tuple[Change, ...]
    #: Skills without a stored report on the published content.
    unknown: tuple[str, ...]

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


async def try_policy(policy: Policy) -> DryRun:
    """Decide about everything published and in review, as if *policy* applied."""
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


def _changes(known: Sequence[_Known], policy: Policy) -> list[Change]:
    found = []
    for one in known:
        subject = subject_of(one.submission, skill_name=one.submission.skill_name)
        then = _decide(one, policy, subject)
        # A reviewer approved it although a policy would ask for a review: the same under the new
        # policy is no change.
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


_LIMITS = {
    "submissions_per_day": "submissions per publisher and day",
    "max_files": "files per skill",
    "max_file_bytes": "bytes per file",
    "max_total_bytes": "bytes per skill",
}


def describe_policy(found: Policy, today: date) -> list[str]:
    """Describe a policy, one sentence per line."""
    lines = _decisions(found)
    lines += [_scanner_sentence(rule) for rule in found.scanners]
    for namespace in found.namespaces:
        lines += ["", *_namespace(namespace, found)]
    lines += [] if found.suppressions else ["There are no suppressions."]
    return lines + [line for item in found.suppressions for line in ("", *_sentences(item, today))]


def _decisions(found: Policy) -> list[str]:
    own = "may" if found.review.own else "may not"
    return [
        *_thresholds(found.thresholds),
        _trust(found.trust),
        *_limits(found.limits),
        f"A reviewer {own} approve their own submissions.",
    ]


def _namespace(namespace: NamespacePolicy, everywhere: Policy) -> list[str]:
    first = namespace.match.partition("/")[0]
    is_plain = not first.startswith("@") and not any(mark in first for mark in (".", ":", "**"))
    where = " (on github.com)" if is_plain else ""
    usual = set(_decisions(everywhere))
    other = [line for line in _decisions(namespace.policy) if line not in usual]
    head = (
        f"Different rules for {namespace.match}{where}:"
        if other
        else (f"No different rules for {namespace.match}{where}.")
    )
    return [head, *(f"  {line}" for line in other)]


def _thresholds(thresholds: Thresholds) -> list[str]:
    lines = [f"Findings: {_levels(thresholds.review_at, thresholds.reject_at)}."]
    if thresholds.two_grave_reject:
        lines.append("Two high-severity malicious findings from different rules cause a rejection.")
    else:
        lines.append("Two high-severity malicious findings do not cause a rejection.")
    for kind in FindingKind:
        own = getattr(thresholds, kind, None)
        if isinstance(own, KindThresholds) and own != KindThresholds():
            levels = thresholds.levels(kind)
            lines.append(
                f"{kind.capitalize()} findings: {_levels(levels.review_at, levels.reject_at)}."
            )
    return lines


def _levels(review_at: Level, reject_at: Level) -> str:
    review = (
        "no finding requires review"
        if review_at is Level.NEVER
        else f"{review_at} and above require review"
    )
    reject = (
        "no finding causes a rejection"
        if reject_at is Level.NEVER
        else f"{reject_at} and above cause a rejection"
    )
    return f"{review}; {reject}"


def _trust(trust: Trust) -> str:
    if not trust.publishers:
        return "There are no trusted publishers."
    kinds = " or ".join(trust.kinds)
    ignored = (
        f"Their {kinds} findings up to {trust.up_to} do not require a review. " if kinds else ""
    )
    return (
        f"Trusted publishers: {', '.join(trust.publishers)}. "
        f"{ignored}All their skills are still checked."
    )


def _limits(limits: Limits) -> list[str]:
    return [
        f"At most {getattr(limits, name):,} {what}."
        for name, what in _LIMITS.items()
        if getattr(limits, name) is not None
    ]


def _scanner_sentence(rule: ScannerRule) -> str:
    if not rule.required:
        return f"The scanner {rule.name} is informational only."
    then = "is rejected" if rule.on_fail is OnFail.REJECT else "needs review"
    return f"The scanner {rule.name} must pass before publication; a skill that fails it {then}."


def _sentences(item: Suppression, today: date) -> list[str]:
    where = f"{item.rule} in {item.path} of {_whose(item)}"
    if item.is_expired(today):
        head = f"EXPIRED: the suppression of {where} expired on {item.expires}."
    else:
        days = (item.expires - today).days
        left = "today is the last day" if not days else f"{days} more days"
        head = f"{where} is suppressed until {item.expires} ({left})."
    return [head, f"  Reason: {item.reason}"]


def _whose(item: Suppression) -> str:
    return "every skill" if item.skill == "**" else f"skills that match {item.skill}"
