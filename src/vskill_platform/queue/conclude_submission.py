"""How a walk ends: what to write when the check passed, and when it did not."""

import msgspec

from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.engines.ports import Operation
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.model.verdict import (
    BLOCKING,
    Finding,
    FindingKind,
    Report,
    Verdict,
    judge,
)
from vskill_platform.publish.publish_skill import prepare_publication
from vskill_platform.scan.scan_skill import ScanResult
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_submission


class Conclusion(msgspec.Struct, frozen=True):
    submission: Submission
    operations: list[Operation]


async def conclude_submission(
    claimed: Stored[Submission], snapshot: Snapshot, scanned: ScanResult, stopwatch: Stopwatch
) -> Conclusion:
    """Decide by what was found; say where that leads and everything that has to be written."""
    submission = msgspec.structs.replace(
        claimed.record,
        skill_name=scanned.manifest.name if scanned.manifest else claimed.record.skill_name,
        digest=snapshot.digest,
        timings=stopwatch.laps,
    )
    current = Stored(submission, claimed.revision)
    report = _report(submission, snapshot, scanned)
    if scanned.manifest is None or not is_publishable(scanned.findings):
        return _stop(current, report, SubmissionState.TIER1_FAILED)
    if scanned.verdict is Verdict.REVIEW:
        return _stop(current, report, SubmissionState.NEEDS_REVIEW)
    publication = await prepare_publication(
        submission, snapshot, scanned.manifest, now=report.checked_at
    )
    stopwatch.lap("publish")
    published, operations = _publish(current, publication.slug, publication.version)
    return Conclusion(published, [*operations, write_report(report), *publication.operations])


def is_publishable(findings: tuple[Finding, ...]) -> bool:
    """Tell whether nothing was found that ends it here: no danger, and a manifest to use."""
    is_broken = any(
        finding.kind is FindingKind.QUALITY and finding.severity in BLOCKING for finding in findings
    )
    return not is_broken and judge(findings) is not Verdict.BLOCK


def _report(submission: Submission, snapshot: Snapshot, scanned: ScanResult) -> Report:
    return Report(
        submission_id=submission.id,
        verdict=scanned.verdict,
        score=scanned.score,
        findings=scanned.findings,
        capabilities=scanned.capabilities,
        digest=snapshot.digest,
        scanner=scanned.scanner,
        ruleset=scanned.ruleset,
        checked_at=get_now(),
        duration_seconds=round(scanned.duration_ms / 1000, 6),
    )


def _stop(current: Stored[Submission], report: Report, state: SubmissionState) -> Conclusion:
    """End the walk, or hand it to a person, with the gravest finding as the reason."""
    first, *others = report.findings  # the gravest come first
    grave = [finding for finding in others if finding.severity in BLOCKING]
    more = f" (and {len(grave)} more)" if grave else ""
    waits = "a person has to look at it: " if state is SubmissionState.NEEDS_REVIEW else ""
    cause = _by_this_node("check", f"{waits}{first.message}{more}")
    stopped, event = move(current.record, state, cause, now=report.checked_at)
    operations = write_submission(stopped, [event], expected=current.revision)
    return Conclusion(stopped, [*operations, write_report(report)])


def _publish(
    current: Stored[Submission], slug: str, version: str
) -> tuple[Submission, list[Operation]]:
    now = get_now()
    submission = msgspec.structs.replace(current.record, slug=slug)
    passed = _by_this_node("check", "passed every check; no judge is configured")
    approved, approval = move(submission, SubmissionState.AUTO_APPROVED, passed, now=now)
    done = _by_this_node("publish", f"published as {slug} {version}")
    published, publication = move(approved, SubmissionState.PUBLISHED, done, now=now)
    operations = write_submission(published, [approval, publication], expected=current.revision)
    return published, operations


def _by_this_node(trigger: str, reason: str) -> Cause:
    return Cause(trigger=trigger, actor=get_settings().node, reason=reason)
