"""What a check found, and what follows from it."""

from datetime import datetime
from enum import StrEnum

import msgspec

from vskill_platform.model.record import Record


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class FindingKind(StrEnum):
    MALICIOUS = "malicious"  #: evidence of deception or theft
    RISKY = "risky"  #: dangerous whoever wrote it
    OPAQUE = "opaque"  #: could not be read
    EXPOSURE = "exposure"  #: harms its own author
    QUALITY = "quality"  #: not what the specification asks for; says nothing about danger
    UNVERIFIED = "unverified"  #: no check came to an end


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict
    REVIEW = "review"
    BLOCK = "block"


#: A finding of one of these keeps a skill from being published as it is.
BLOCKING = frozenset({Severity.CRITICAL, Severity.HIGH})
#: Kinds that speak about danger, and so about the verdict.
_DANGEROUS = frozenset({FindingKind.MALICIOUS, FindingKind.RISKY, FindingKind.OPAQUE})
_SCORES = {
    Severity.CRITICAL: 100,
    Severity.HIGH: 70,
    Severity.MEDIUM: 40,
    Severity.LOW: 10,
    Severity.INFO: 0,
}
#: What a second, independent rule adds to the gravest.
_SECOND_RULE = 10


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    severity: Severity
    message: str
    #: What the author can do about it.
    fix: str
    file: str | None = None
    line: int | None = None
    kind: FindingKind = FindingKind.QUALITY
    #: Why it matters.
    why: str = ""
    #: The words or code themselves, and the other places that it was put together from.
    evidence: tuple[str, ...] = ()
    #: Why the severity is lower than the rule's; empty if it is not.
    lowered: str = ""
    references: tuple[str, ...] = ()
    #: Stays the same while the place and what it says do.
    fingerprint: str = ""


class Report(Record, frozen=True, kw_only=True):
    submission_id: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    #: What was checked; None when there was nothing that could be.
    digest: str | None
    scanner: str
    checked_at: datetime
    duration_seconds: float
    #: Which rules were applied.
    ruleset: str = ""
    #: 0 is clean, 100 is certain.
    score: int = 0
    #: What the skill can do, by kind; never part of the verdict.
    capabilities: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def judge(findings: tuple[Finding, ...]) -> Verdict:
    """Decide by the gravest, not by the sum: many small things make no large one.

    One critical finding blocks, and so do two grave ones of different rules. A single grave or
    middling one is for a person to look at.
    """
    dangerous = [finding for finding in findings if finding.kind in _DANGEROUS]
    grave = {
        finding.rule
        for finding in dangerous
        if finding.severity is Severity.HIGH and finding.kind is FindingKind.MALICIOUS
    }
    if any(finding.severity is Severity.CRITICAL for finding in dangerous) or len(grave) > 1:
        return Verdict.BLOCK
    if any(finding.severity in {Severity.HIGH, Severity.MEDIUM} for finding in dangerous):
        return Verdict.REVIEW
    return Verdict.PASS


def score(findings: tuple[Finding, ...]) -> int:
    """Say how bad the gravest finding is, and a little more if another rule agrees."""
    by_rule: dict[str, int] = {}
    for finding in findings:
        if finding.kind in _DANGEROUS:
            found = _SCORES[finding.severity]
            by_rule[finding.rule] = max(found, by_rule.get(finding.rule, 0))
    if not by_rule:
        return 0
    gravest = max(by_rule.values())
    has_second = sum(value >= _SCORES[Severity.MEDIUM] for value in by_rule.values()) > 1
    return min(gravest + (_SECOND_RULE if has_second else 0), 100)
