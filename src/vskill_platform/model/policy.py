"""The operator's policy, for all skills and for some namespaces."""

import hashlib
import re
from collections.abc import Collection, Iterable
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

import msgspec

from vskill_platform.model.scanner import ScannerRule
from vskill_platform.model.verdict import (
    SUPPRESSIBLE,
    Finding,
    FindingKind,
    FindingSuppression,
    Severity,
)

_EVERY_SKILL = "**"
_WILDCARDS = re.compile(r"(\*\*/|\*\*|\*|\?)")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Suppression(msgspec.Struct, frozen=True, kw_only=True):
    """A rule whose findings are ignored at a path until a date, with the reason."""

    rule: str
    #: A glob over the files of the skill: `*` matches within a folder, `**` across folders.
    path: str
    #: A glob over the slug or the source of the skill.
    skill: str = _EVERY_SKILL
    reason: str
    #: The last day on which it applies, in UTC.
    expires: date

    def is_expired(self, today: date) -> bool:
        return today > self.expires

    def covers(self, finding: Finding, names: Collection[str]) -> bool:
        """Return whether it applies to this finding in a skill with one of *names*."""
        return (
            finding.rule == self.rule
            and finding.kind in SUPPRESSIBLE
            and finding.file is not None
            and matches(self.path, finding.file)
            and (self.skill == _EVERY_SKILL or any(matches(self.skill, name) for name in names))
        )


class Level(StrEnum):
    """The severity threshold of an action."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"
    NEVER = "never"

    def is_reached_by(self, severity: Severity) -> bool:
        return _STRICTNESS[self] >= _STRICTNESS[Level(severity)]


#: How strict a level is: `never` matches nothing, `info` everything.
_STRICTNESS = {
    Level.NEVER: 0,
    Level.CRITICAL: 1,
    Level.HIGH: 2,
    Level.MEDIUM: 3,
    Level.LOW: 4,
    Level.INFO: 5,
}


class Levels(msgspec.Struct, frozen=True):
    review_at: Level
    reject_at: Level

    @property
    def is_in_order(self) -> bool:
        """Return whether the review level is not above the rejection level."""
        return _STRICTNESS[self.review_at] >= _STRICTNESS[self.reject_at]


class KindThresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Thresholds for one kind of finding; missing ones are inherited."""

    review_at: Level | None = None
    reject_at: Level | None = None


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    review_at: Level = Level.MEDIUM
    reject_at: Level = Level.CRITICAL
    #: Whether two malicious `high` findings of different rules cause a rejection.
    two_grave_reject: bool = True
    malicious: KindThresholds = KindThresholds()
    risky: KindThresholds = KindThresholds()
    opaque: KindThresholds = KindThresholds()
    imitation: KindThresholds = KindThresholds()
    #: Harms only the author, so it is ignored unless it has its own thresholds.
    exposure: KindThresholds = KindThresholds()

    def levels(self, kind: FindingKind) -> Levels:
        """Return the review and reject thresholds for this kind of finding.

        For unreadable content they are at least as strict as the defaults: no one can vouch for
        content that no one has seen.
        """
        own = getattr(self, kind, None)
        if not isinstance(own, KindThresholds):
            return Levels(Level.NEVER, Level.NEVER)
        silent = kind is FindingKind.EXPOSURE
        review_at = own.review_at or (Level.NEVER if silent else self.review_at)
        reject_at = own.reject_at or (Level.NEVER if silent else self.reject_at)
        if kind is FindingKind.OPAQUE:
            review_at = max(review_at, Level.MEDIUM, key=_STRICTNESS.__getitem__)
            reject_at = max(reject_at, Level.CRITICAL, key=_STRICTNESS.__getitem__)
        return Levels(review_at, reject_at)


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """Publishers exempt from review, and the findings that the exemption covers."""

    #: Host and owner, or the namespace of uploads; by default no publisher is exempt.
    publishers: tuple[str, ...] = ()
    kinds: tuple[FindingKind, ...] = (FindingKind.RISKY,)
    up_to: Level = Level.MEDIUM

    def ignores(self, finding: Finding) -> bool:
        """Return whether the finding is ignored. Objections of the judge always need a review."""
        is_above = _STRICTNESS[Level(finding.severity)] < _STRICTNESS[self.up_to]
        return finding.kind in self.kinds and not is_above and not finding.rule.startswith("JUDGE")


#: Zero is not allowed: to accept nothing, disable submissions.
_Count = Annotated[int, msgspec.Meta(ge=1)]


class PolicyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits below the built-in ones; None means the built-in limit."""

    #: How many submissions of one publisher are processed per day (UTC).
    submissions_per_day: _Count | None = None
    max_files: _Count | None = None
    max_file_bytes: _Count | None = None
    max_total_bytes: _Count | None = None


class ReviewRules(msgspec.Struct, frozen=True, kw_only=True):
    #: Whether reviewers may approve their own submissions.
    own: bool = False


class NamespacePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Different settings for some skills."""

    #: A glob over `owner/repo`, `host/owner/repo` or `@namespace`.
    match: str
    #: The complete policy for these skills, including inherited settings.
    policy: "Policy"


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    suppressions: tuple[Suppression, ...] = ()
    thresholds: Thresholds = Thresholds()
    trust: Trust = Trust()
    #: The third-party scanners that check every skill.
    scanners: tuple[ScannerRule, ...] = ()
    limits: PolicyLimits = PolicyLimits()
    review: ReviewRules = ReviewRules()
    #: The first match applies.
    namespaces: tuple[NamespacePolicy, ...] = ()

    def within(self, namespaces: Collection[str]) -> "Policy":
        """Return the policy for a skill whose namespace has these names."""
        for one in self.namespaces:
            if any(matches(one.match, name) for name in namespaces):
                return one.policy
        return self


def digest_of(policy: Policy) -> str:
    """Return a digest of what the policy means, not of comments and order; empty for none."""
    if policy == Policy():
        return ""
    encoded = msgspec.json.encode(policy, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:12]


def suppress(
    findings: Iterable[Finding], policy: Policy, *, names: Collection[str], today: date
) -> tuple[Finding, ...]:
    """Mark the findings that the policy suppresses, including those whose suppression has expired.

    No finding is dropped; verdict_from() ignores suppressed ones.
    """
    return tuple(
        msgspec.structs.replace(
            finding, suppression=_mark(finding, policy, names=names, today=today)
        )
        for finding in findings
    )


def _mark(
    finding: Finding, policy: Policy, *, names: Collection[str], today: date
) -> FindingSuppression | None:
    covering = [item for item in policy.suppressions if item.covers(finding, names)]
    if not covering:
        return None
    lasting = max(covering, key=lambda item: (item.expires, item.reason))
    return FindingSuppression(
        reason=lasting.reason, expires=lasting.expires, is_expired=lasting.is_expired(today)
    )


def matches(glob: str, text: str) -> bool:
    return _compiled(glob).fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> re.Pattern[str]:
    parts = (_MEANINGS.get(part) or re.escape(part) for part in _WILDCARDS.split(glob))
    return re.compile("".join(parts), re.DOTALL)
