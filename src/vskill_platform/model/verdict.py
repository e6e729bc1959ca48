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


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict
    BLOCK = "block"


#: A finding of one of these keeps a skill from being published.
BLOCKING = frozenset({Severity.CRITICAL, Severity.HIGH})


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    severity: Severity
    message: str
    #: What the author can do about it.
    fix: str
    file: str | None = None
    line: int | None = None


class Report(Record, frozen=True, kw_only=True):
    submission_id: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    #: What was checked; None when there was nothing that could be.
    digest: str | None
    scanner: str
    checked_at: datetime
    duration_seconds: float


def judge(findings: tuple[Finding, ...]) -> Verdict:
    is_blocked = any(finding.severity in BLOCKING for finding in findings)
    return Verdict.BLOCK if is_blocked else Verdict.PASS
