"""Translate our findings about a version to ClawHub's verdicts: clean, suspicious or malicious."""

from datetime import datetime
from typing import Any, Literal

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.errors import NotAllowed
from vskill_platform.model.failure import results_in
from vskill_platform.model.scanner import ExternalScanStatus
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.verdict import (
    Finding,
    FindingKind,
    Report,
    Severity,
    Verdict,
    in_order,
)
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.publish.versions.trust_of_skill import find_reviewer
from vskill_platform.scan.reports.source_lines import without_secrets
from vskill_platform.stores.external_scan_store import ExternalScan, get_external_scans
from vskill_platform.stores.scan_store import get_report, get_report_on
from vskill_platform.stores.submission_store import get_histories
from vskill_platform.stores.version_store import get_versions

Status = Literal["clean", "suspicious", "malicious", "pending", "error"]
#: Clients refuse to install a version with this reason.
_BLOCKED = "malware.blocked"
_MAX_FINDINGS = 5
_MAX_LINE = 500
_SEVERITIES = {
    Severity.CRITICAL: "critical",
    Severity.HIGH: "critical",
    Severity.MEDIUM: "warn",
    Severity.LOW: "info",
    Severity.INFO: "info",
}


def millis(moment: datetime | None) -> int | None:
    """Return a time in ClawHub's format."""
    return int(moment.timestamp() * 1000) if moment else None


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    status: Status
    #: The reasons in one line each, without the findings.
    notes: tuple[str, ...]
    #: Security findings, most severe first, with secrets redacted.
    findings: tuple[Finding, ...] = ()
    scanner: str | None = None
    checked_at: datetime | None = None

    @property
    def is_clean(self) -> bool:
        return self.status == "clean"

    @property
    def is_blocked(self) -> bool:
        return self.status == "malicious"

    @property
    def reasons(self) -> list[str]:
        """Why it did not pass; empty if it is clean."""
        if self.is_clean:
            return []
        first = _BLOCKED if self.is_blocked else f"security.{self.status}"
        return [first, *(f"{item.rule}: {item.message}" for item in self.findings[:_MAX_FINDINGS])]

    @property
    def overview(self) -> str:
        """The assessment in a few lines of text."""
        lines = [*self.notes, *map(_line, self.findings[:_MAX_FINDINGS])]
        left = len(self.findings) - _MAX_FINDINGS
        more = [f"and {left} more"] if left > 0 else []
        return "\n".join(show(line, limit=_MAX_LINE) for line in [*lines, *more])


def _line(item: Finding) -> str:
    place = f" ({item.file}:{item.line})" if item.file and item.line else ""
    place = place or (f" ({item.file})" if item.file else "")
    why = f" {item.why}" if item.why else ""
    return f"- {item.severity}: {item.message}{place}{why}"


async def assess_version(skill: PublishedSkill, version: SkillVersion) -> Assessment:
    """Assess one version of a skill from its report, its blocks and its reviews."""
    report = await get_report_on(version.submission_id, version.digest)
    try:
        found = await find_version(skill.slug, version.version)
    except NotAllowed as error:
        return _assessment("malicious", [f"Blocked: {error}."], report)
    notes = [f"This version is yanked: {found.yank.reason}"] if found.yank else []
    notes += [f"Deprecated: {found.deprecation.words}"] if found.deprecation else []
    scans = await get_external_scans(version.submission_id)
    failed = [scan for scan in scans if _has_failed(scan, version)]
    notes += [f"The scanner {scan.provider} reports a problem. {scan.note}" for scan in failed]
    if report is None:
        return _assessment("error", [*notes, "Its report is no longer stored."], None)
    history = (await get_histories([version.submission_id]))[version.submission_id]
    reviewer = find_reviewer(history, version)
    if reviewer:
        notes.append(f"Approved by {reviewer}.")
    notes.append(f"Checked by {report.scanner}.")
    is_clean = not failed and (report.verdict is Verdict.PASS or reviewer is not None)
    if is_clean and not _security_findings(report):
        notes.append("No security findings.")
    return _assessment("clean" if is_clean else "suspicious", notes, report)


async def assess_skill(skill: PublishedSkill) -> Assessment:
    """Assess the version that is installed by default, or without one the newest."""
    versions = await get_versions(skill.slug)
    chosen = next((item for item in versions if item.number == skill.latest_number), versions[-1])
    return await assess_version(skill, chosen)


async def assess_refused(submission: Submission) -> Assessment:
    """Assess a submission that was not published."""
    report = await get_report(submission.id)
    name, state = submission.skill_name, submission.state
    if state is SubmissionState.NEEDS_REVIEW:
        note = f"{name} is not published: it needs review. {submission.reason}"
        return _assessment("suspicious", [note], report)
    is_malicious = state in {SubmissionState.BLOCKED, SubmissionState.REJECTED} or (
        report is not None and report.verdict is Verdict.BLOCK
    )
    note = f"{name} was refused: {submission.reason}"
    found = _assessment("malicious" if is_malicious else "suspicious", [note], report)
    # Includes what prevented the check, such as an invalid manifest.
    findings = in_order(report.findings) if report else ()
    return msgspec.structs.replace(found, findings=tuple(map(without_secrets, findings)))


def moderation_json(found: Assessment) -> dict[str, Any]:
    return {
        "isSuspicious": found.status in {"suspicious", "error", "malicious"},
        "isMalwareBlocked": found.is_blocked,
        "verdict": found.status if found.status in {"clean", "malicious"} else "suspicious",
        "reasonCodes": found.reasons,
        "updatedAt": millis(found.checked_at),
        "engineVersion": found.scanner,
        "summary": found.overview,
    }


def security_json(found: Assessment) -> dict[str, Any]:
    return {
        "status": found.status,
        "passed": found.is_clean,
        "hasWarnings": bool(found.findings),
        "checkedAt": millis(found.checked_at),
        "model": found.scanner,
        "signals": {
            "staticScan": {
                "status": found.status,
                "summary": found.overview,
                "findings": evidence_json(found),
            }
        },
    }


def evidence_json(found: Assessment) -> list[dict[str, Any]]:
    return [
        {
            "code": item.rule,
            "severity": _SEVERITIES[item.severity],
            "file": item.file or "",
            "line": item.line or 0,
            "message": item.message,
            "explanation": item.why,
            "remediation": item.fix,
            "evidence": "\n".join(item.evidence),
        }
        for item in found.findings
    ]


def _assessment(status: Status, notes: list[str], report: Report | None) -> Assessment:
    return Assessment(
        status=status,
        notes=tuple(notes),
        findings=_security_findings(report) if report else (),
        scanner=report.scanner if report else None,
        checked_at=report.checked_at if report else None,
    )


def _security_findings(report: Report) -> tuple[Finding, ...]:
    found = in_order(results_in(report.findings))
    return tuple(
        without_secrets(item)
        for item in found
        if item.kind is not FindingKind.QUALITY and not item.is_suppressed
    )


def _has_failed(scan: ExternalScan, version: SkillVersion) -> bool:
    return scan.digest == version.digest and scan.status is ExternalScanStatus.FAIL
