"""The decision about a skill: the policy applied to its findings, with reasons as text."""

from collections.abc import Iterable, Sequence
from datetime import date
from enum import StrEnum
from typing import Protocol

import msgspec

from vskill_platform.model.policy import Policy, PolicyLimits, Thresholds, suppress
from vskill_platform.model.skill import SkillFile
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import (
    BLOCKING,
    Finding,
    FindingKind,
    Severity,
    in_order,
)

#: The rule id of findings about the policy's own limits.
OVER_LIMIT = "LIM-002"
#: Further findings are counted but not listed.
_MAX_NAMED = 3
#: Path segments after the host if there are no nested groups.
_OWNER_AND_REPO = 2


class Outcome(StrEnum):
    PUBLISH = "publish"
    REVIEW = "review"
    REJECT = "reject"


class Checked(Protocol):
    """A report, or the data for one."""

    @property
    def findings(self) -> tuple[Finding, ...]: ...


class PolicySubject(msgspec.Struct, frozen=True, kw_only=True):
    """The names a policy can match."""

    #: Names for suppressions: the slug, or the source.
    names: tuple[str, ...]
    #: Names for the policy's namespaces.
    namespaces: tuple[str, ...]
    #: Its publisher.
    publisher: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Outcome
    #: The clause of the policy that decided, and the finding behind it.
    clause: str
    #: All reasons for this outcome, as text.
    reasons: tuple[str, ...] = ()
    #: The deciding findings, most severe first.
    deciding: tuple[Finding, ...] = ()
    #: Whether it would need a review if its publisher were not exempt from review.
    is_by_trust: bool = False


def subject_of(submission: Submission, *, skill_name: str | None = None) -> PolicySubject:
    """Return the names a policy can match for the skill of a submission."""
    source = submission.source
    names = {source.url, f"{source.url}/{source.path}"}
    if skill_name:
        names.add(source.slug_of(skill_name))
    if submission.slug:
        names.add(submission.slug)
    return PolicySubject(
        names=tuple(sorted(names)),
        namespaces=namespaces_of(source),
        publisher=source.publisher,
    )


def namespaces_of(source: Source) -> tuple[str, ...]:
    """Return the names of a skill's namespace: host, owner and repo, and the start of its slug.

    A group in another user's account can have any name, so for nested groups only the full path
    is returned.
    """
    if source.kind is not SourceKind.GIT:
        return (source.namespace,)
    scheme, _, place = source.url.lower().partition("://")
    if scheme != "file" and place.count("/") > _OWNER_AND_REPO:
        return (place,)
    return tuple({source.namespace: 0, place: 0})


def decide(report: Checked, policy: Policy, subject: PolicySubject, *, today: date) -> Decision:
    """Decide: publish, review or reject.

    Without a policy, verdict_from() decides and the manifest must be valid. Trust can make a review
    unnecessary; it never publishes a skill that would be rejected.
    """
    here = policy.within(subject.namespaces)
    marked = in_order(suppress(report.findings, policy, names=subject.names, today=today))
    findings = tuple(finding for finding in marked if not finding.is_suppressed)
    if rejected := _rejected(findings, here.thresholds):
        return rejected
    doubts = _doubts(findings, here.thresholds)
    if not doubts:
        return Decision(outcome=Outcome.PUBLISH, clause=_passed(here.thresholds, marked))
    is_trusted = subject.publisher in here.trust.publishers
    left = [item for item in doubts if not (is_trusted and here.trust.ignores(item))]
    if not left:
        return _trusted(doubts, subject.publisher)
    return _decision(Outcome.REVIEW, left, [_why_review(item, here.thresholds) for item in left])


def check_sizes(files: Sequence[SkillFile], limits: PolicyLimits) -> tuple[Finding, ...]:
    """Check the files of a skill against the policy's own limits."""
    found = []
    if limits.max_files and len(files) > limits.max_files:
        found.append(_over(f"There are {len(files):,} files", limits.max_files))
    total = sum(file.size for file in files)
    if limits.max_total_bytes and total > limits.max_total_bytes:
        found.append(_over(f"All files have {total:,} bytes", limits.max_total_bytes))
    if limits.max_file_bytes:
        found += [
            _over(f"{file.path} has {file.size:,} bytes", limits.max_file_bytes, file.path)
            for file in files
            if file.size > limits.max_file_bytes
        ]
    return tuple(found)


def resized(
    findings: Iterable[Finding], files: Sequence[SkillFile], limits: PolicyLimits
) -> tuple[Finding, ...]:
    """Replace findings about earlier limits with findings about these limits."""
    rest = (finding for finding in findings if finding.rule != OVER_LIMIT)
    return in_order((*rest, *check_sizes(files, limits)))


def _rejected(findings: Sequence[Finding], thresholds: Thresholds) -> Decision | None:
    broken = [
        item for item in findings if item.kind is FindingKind.QUALITY and item.severity in BLOCKING
    ]
    if broken:
        reasons = [f"{_named(item)}: it cannot be published as it is" for item in broken]
        return _decision(Outcome.REJECT, broken, reasons)
    deciding = [
        item
        for item in findings
        if thresholds.levels(item.kind).reject_at.is_reached_by(item.severity)
    ]
    reasons = [
        f"{_named(item)} reaches reject_at = {thresholds.levels(item.kind).reject_at}"
        for item in deciding
    ]
    if not deciding and thresholds.two_grave_reject:
        deciding = _two_high(findings)
        reasons = [
            f"{_named(item)} is one of two high malicious findings (two_grave_reject)"
            for item in deciding
        ]
    return _decision(Outcome.REJECT, deciding, reasons) if deciding else None


def _two_high(findings: Sequence[Finding]) -> list[Finding]:
    deciding = [
        item
        for item in findings
        if item.severity is Severity.HIGH and item.kind is FindingKind.MALICIOUS
    ]
    return deciding if len({item.rule for item in deciding}) > 1 else []


def _doubts(findings: Sequence[Finding], thresholds: Thresholds) -> list[Finding]:
    return [
        item
        for item in findings
        if item.kind is FindingKind.UNVERIFIED
        or thresholds.levels(item.kind).review_at.is_reached_by(item.severity)
    ]


def _why_review(finding: Finding, thresholds: Thresholds) -> str:
    if finding.kind is FindingKind.UNVERIFIED:
        return f"{_named(finding)}: a check did not finish"
    return f"{_named(finding)} reaches review_at = {thresholds.levels(finding.kind).review_at}"


def _trusted(doubts: Sequence[Finding], publisher: str) -> Decision:
    reasons = [
        f"{_named(item)} is ignored because {publisher} is exempt from review" for item in doubts
    ]
    decision = _decision(Outcome.PUBLISH, doubts, reasons)
    return msgspec.structs.replace(decision, is_by_trust=True)


def _passed(thresholds: Thresholds, marked: Sequence[Finding]) -> str:
    suppressed = sum(finding.is_suppressed for finding in marked)
    but = f", {suppressed} suppressed" if suppressed else ""
    return f"no finding reaches review_at = {thresholds.review_at}{but}"


def _decision(outcome: Outcome, deciding: Sequence[Finding], reasons: Sequence[str]) -> Decision:
    more = len(reasons) - _MAX_NAMED
    clause = "; ".join(reasons[:_MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")
    return Decision(
        outcome=outcome, clause=clause, reasons=tuple(reasons), deciding=tuple(deciding)
    )


def _named(finding: Finding) -> str:
    place = ":".join(str(part) for part in (finding.file, finding.line) if part is not None)
    return f"{finding.rule} ({finding.severity}, {finding.kind}{f', {place}' if place else ''})"


def _over(what: str, limit: int, file: str | None = None) -> Finding:
    return Finding(
        rule=OVER_LIMIT,
        severity=Severity.HIGH,
        message=f"{what}; this registry's limit is {limit:,}.",
        fix="Remove files the skill does not need; link to large files instead.",
        file=file,
    )
