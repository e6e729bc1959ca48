"""Ending a submission that could not be verified, with a reason and a finding to read."""

from vskill_platform.engines.ports import Operation
from vskill_platform.model.failure import NO_SCANNER
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.model.verdict import Finding, FindingKind, Report, Severity, Verdict
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_submission


def unverified(*, rule: str, message: str, fix: str) -> Finding:
    return Finding(
        rule=rule, severity=Severity.HIGH, message=message, fix=fix, kind=FindingKind.UNVERIFIED
    )


def reject_submission(
    stored: Stored[Submission], cause: Cause, finding: Finding
) -> list[Operation]:
    """Move it to REJECTED; whatever path led here, there is a finding that says why."""
    now = get_now()
    rejected, event = move(stored.record, SubmissionState.REJECTED, cause, now=now)
    report = Report(
        submission_id=rejected.id,
        verdict=Verdict.BLOCK,
        findings=(finding,),
        digest=rejected.digest,
        scanner=NO_SCANNER,
        checked_at=now,
        duration_seconds=0,
    )
    return [*write_submission(rejected, [event], expected=stored.revision), write_report(report)]
