"""Findings, and the verdict derived from them."""

from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum

import msgspec

from vskill_platform.model.judgement import Judgement
from vskill_platform.model.record import Record


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class FindingKind(StrEnum):
    MALICIOUS = "malicious"  #: evidence of deception or theft
    RISKY = "risky"  #: dangerous, regardless of the intention
    OPAQUE = "opaque"  #: could not be read
    IMITATION = "imitation"  #: resembles another publisher's skill, or published in bulk
    EXPOSURE = "exposure"  #: harms only its author
    QUALITY = "quality"  #: violates the specification; unrelated to security
    UNVERIFIED = "unverified"  #: a check did not complete
    EXTERNAL = "external"  #: from a third-party scanner; does not affect the verdict by itself


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict
    REVIEW = "review"
    BLOCK = "block"


#: A quality finding of one of these severities prevents publication.
BLOCKING = frozenset({Severity.CRITICAL, Severity.HIGH})
#: Security kinds, which determine the verdict.
_DANGEROUS = frozenset(
    {FindingKind.MALICIOUS, FindingKind.RISKY, FindingKind.OPAQUE, FindingKind.IMITATION}
)
#: Kinds that a policy can suppress. Unreadable files and violations of the specification cannot be
#: suppressed: a suppression never makes a skill complete.
SUPPRESSIBLE = frozenset(
    {FindingKind.MALICIOUS, FindingKind.RISKY, FindingKind.IMITATION, FindingKind.EXPOSURE}
)
_ORDER = {severity: place for place, severity in enumerate(Severity)}
_SCORES = {
    Severity.CRITICAL: 100,
    Severity.HIGH: 70,
    Severity.MEDIUM: 40,
    Severity.LOW: 10,
    Severity.INFO: 0,
}
#: Added to the highest score if a second rule has a finding of at least medium severity.
_SECOND_RULE = 10


class FindingSuppression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A policy's suppression of one finding."""

    reason: str
    expires: date
    #: Whether it had expired when the skill was checked, so that it has no effect.
    is_expired: bool = False

    def in_words(self) -> str:
        if self.is_expired:
            return f"expired on {self.expires}; reason was: {self.reason}"
        return f"until {self.expires}: {self.reason}"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the locations of a finding."""

    file: str
    line: int
    #: The action there, and its text.
    act: str
    text: str


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rule: str
    severity: Severity
    message: str
    #: How the author can fix it.
    fix: str
    file: str | None = None
    line: int | None = None
    kind: FindingKind = FindingKind.QUALITY
    #: Why it matters.
    why: str = ""
    #: The matching text or code, and the other locations.
    evidence: tuple[str, ...] = ()
    #: From source to sink; empty for a single location.
    steps: tuple[Step, ...] = ()
    #: Why the severity is lower than the rule's; empty if it is not.
    lowered: str = ""
    references: tuple[str, ...] = ()
    #: Stable as long as location and text do not change.
    fingerprint: str = ""
    #: From the registry's policy, never from the skill.
    suppression: FindingSuppression | None = None

    @property
    def is_suppressed(self) -> bool:
        """Return whether it is shown but ignored."""
        mark = self.suppression
        return mark is not None and not mark.is_expired and self.kind in SUPPRESSIBLE

    @property
    def is_informational(self) -> bool:
        """Return whether it does not affect the verdict: suppressed or third-party."""
        return self.is_suppressed or self.kind is FindingKind.EXTERNAL


class Report(Record, frozen=True, kw_only=True):
    submission_id: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    #: The checked content; None if there was none.
    digest: str | None
    scanner: str
    checked_at: datetime
    duration_seconds: float
    #: Which rules were applied.
    ruleset: str = ""
    #: 0 is clean, 100 is certain; None if a failure prevented the check from completing.
    score: int | None = None
    #: The skill's capabilities by kind; not part of the verdict.
    capabilities: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    #: The judgement of tier 2; None if the judge was not asked.
    judgement: Judgement | None = None
    #: The digest of the policy; empty for none.
    policy: str = ""
    #: The reason for the decision: a clause of the policy with its findings, or a reviewer.
    decided: str = ""


def verdict_from(findings: tuple[Finding, ...]) -> Verdict:
    """The most severe finding decides; findings are not summed.

    A critical finding blocks, and so do two high malicious findings of different rules. A single
    high or medium finding needs review.
    """
    dangerous = [finding for finding in findings if _counts(finding)]
    high = {
        finding.rule
        for finding in dangerous
        if finding.severity is Severity.HIGH and finding.kind is FindingKind.MALICIOUS
    }
    if any(finding.severity is Severity.CRITICAL for finding in dangerous) or len(high) > 1:
        return Verdict.BLOCK
    if any(finding.severity in {Severity.HIGH, Severity.MEDIUM} for finding in dangerous):
        return Verdict.REVIEW
    return Verdict.PASS


def score(findings: tuple[Finding, ...]) -> int:
    """Return the score of the most severe finding, plus a bonus if a second rule confirms it."""
    by_rule: dict[str, int] = {}
    for finding in findings:
        if _counts(finding):
            found = _SCORES[finding.severity]
            by_rule[finding.rule] = max(found, by_rule.get(finding.rule, 0))
    if not by_rule:
        return 0
    highest = max(by_rule.values())
    has_second = sum(value >= _SCORES[Severity.MEDIUM] for value in by_rule.values()) > 1
    return min(highest + (_SECOND_RULE if has_second else 0), 100)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort by severity, with ignored findings last."""
    return tuple(
        sorted(findings, key=lambda item: (item.is_informational, _ORDER[item.severity], item.rule))
    )


def _counts(finding: Finding) -> bool:
    return finding.kind in _DANGEROUS and not finding.is_suppressed
