"""Add a judgement to tier 1: a manipulated judge cannot improve a verdict.

The judge's reasons become findings beside those of tier 1, and the most severe one determines the
verdict as usual. So the judge can raise the verdict but, unless the operator allows it, not lower
it. Tier 1 has already lowered severities by the role of the file, in scan/rules/lower_severity.py.
"""

import hashlib
from collections.abc import Iterable

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.model.judgement import Judgement, Opinion, Reason
from vskill_platform.model.verdict import Finding, FindingKind, Severity

#: Below this confidence a rejection becomes a review.
SURE = 0.8
#: Below this confidence an approval counts as doubtful.
UNSURE = 0.5
#: Findings that the judge may lower by one step, if the operator allows it: risky ones of medium
#: severity. Never deception, or files that neither tier 1 nor the judge could read.
_LOWERABLE = (FindingKind.RISKY, Severity.MEDIUM)
_SAFE = frozenset({Severity.LOW, Severity.INFO})


def combine(
    findings: Iterable[Finding], judgement: Judgement, *, may_lower: bool
) -> tuple[Finding, ...]:
    """Return all findings: those of tier 1 and those of the judge."""
    known = tuple(findings)
    added = (*_concerns_of(judgement), *_gaps(judgement))
    if may_lower and not added and judgement.confidence >= SURE and _is_lowerable(known):
        return tuple(_lowered(finding, judgement) for finding in known)
    return (*known, *added)


def _concerns_of(judgement: Judgement) -> Iterable[Finding]:
    if judgement.opinion is Opinion.REJECT and judgement.confidence >= SURE:
        return [_harm(reason, judgement) for reason in judgement.reasons]
    if judgement.opinion is not Opinion.PUBLISH:
        return [_doubt(reason.claim, judgement, reason) for reason in judgement.reasons]
    if judgement.confidence < UNSURE:
        return [_doubt(f"It would publish it but is not sure. {judgement.summary}", judgement)]
    return []


def _gaps(judgement: Judgement) -> Iterable[Finding]:
    if not judgement.unseen:
        return []
    first, *others = judgement.unseen
    more = f" and {count_of(len(others), 'more file')}" if others else ""
    return [
        Finding(
            rule="JUDGE-003",
            severity=Severity.MEDIUM,
            kind=FindingKind.OPAQUE,
            message=f"The judge could not be shown all of {first}{more}.",
            fix="Shorten the instructions and scripts, or wait for a review.",
            why="Content that was not checked may be harmful.",
            file=first,
        )
    ]


def _harm(reason: Reason, judgement: Judgement) -> Finding:
    return Finding(
        rule="JUDGE-001",
        severity=Severity.CRITICAL,
        kind=FindingKind.MALICIOUS,
        message=f"The judge considers it harmful: {reason.claim}",
        fix="Remove the harmful part; if the judge is wrong, ask the operator for a review.",
        why=judgement.summary,
        file=reason.file,
        line=reason.line,
        evidence=(reason.quote,),
        fingerprint=_fingerprint("JUDGE-001", reason),
    )


def _doubt(claim: str, judgement: Judgement, reason: Reason | None = None) -> Finding:
    return Finding(
        rule="JUDGE-002",
        severity=Severity.MEDIUM,
        kind=FindingKind.RISKY,
        message=f"The judge has doubts: {claim}",
        fix="Document what this is for and let the user decide, or wait for a review.",
        why=judgement.summary,
        file=reason.file if reason else None,
        line=reason.line if reason else None,
        evidence=(reason.quote,) if reason else (),
        fingerprint=_fingerprint("JUDGE-002", reason) if reason else "",
    )


def _fingerprint(rule: str, reason: Reason) -> str:
    """Identify a finding by location and text: a judge words it differently each time."""
    return hashlib.sha256(f"{rule}\0{reason.file}\0{reason.quote}".encode()).hexdigest()[:16]


def _is_lowerable(findings: Iterable[Finding]) -> bool:
    return all(
        finding.severity in _SAFE
        or finding.kind in {FindingKind.QUALITY, FindingKind.EXPOSURE}
        or (finding.kind, finding.severity) == _LOWERABLE
        for finding in findings
    )


def _lowered(finding: Finding, judgement: Judgement) -> Finding:
    if (finding.kind, finding.severity) != _LOWERABLE:
        return finding
    why = f"the judge ({judgement.model}) sees no harm in it: {judgement.summary}"
    return msgspec.structs.replace(finding, severity=Severity.LOW, lowered=why)
