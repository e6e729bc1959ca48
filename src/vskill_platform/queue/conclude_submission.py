"""How a walk ends: what to write when the check passed, and when it did not."""

import msgspec

from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.engines.ports import Operation
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.model.verdict import BLOCKING, Report, Verdict, judge
from vskill_platform.publish.publish_skill import prepare_publication
from vskill_platform.scan.check_skill import SCANNER, CheckResult
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.submission_store import write_submission


class Conclusion(msgspec.Struct, frozen=True):
    submission: Submission
    operations: list[Operation]


async def conclude_submission(
    claimed: Stored[Submission], snapshot: Snapshot, checked: CheckResult, stopwatch: Stopwatch
) -> Conclusion:
    """Decide by what was found; say where that leads and everything that has to be written."""
    submission = msgspec.structs.replace(
        claimed.record,
        skill_name=checked.manifest.name if checked.manifest else claimed.record.skill_name,
        digest=snapshot.digest,
    )
    report = Report(
        submission_id=submission.id,
        verdict=judge(checked.findings),
        findings=checked.findings,
        digest=snapshot.digest,
        scanner=SCANNER,
        checked_at=get_now(),
        duration_seconds=stopwatch.laps["check"],
    )
    current = Stored(submission, claimed.revision)
    if checked.manifest is None or report.verdict is not Verdict.PASS:
        failed, operations = _fail(current, report, stopwatch)
        return Conclusion(failed, [*operations, write_report(report)])
    publication = await prepare_publication(
        submission, snapshot, checked.manifest, now=report.checked_at
    )
    stopwatch.lap("publish")
    published, operations = _publish(current, publication.slug, publication.version, stopwatch)
    return Conclusion(published, [*operations, write_report(report), *publication.operations])


def _fail(
    current: Stored[Submission], report: Report, stopwatch: Stopwatch
) -> tuple[Submission, list[Operation]]:
    blocking = [finding for finding in report.findings if finding.severity in BLOCKING]
    more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
    cause = _by_this_node("check", f"{blocking[0].message}{more}")
    submission = msgspec.structs.replace(current.record, timings=stopwatch.laps)
    failed, event = move(submission, SubmissionState.TIER1_FAILED, cause, now=report.checked_at)
    return failed, write_submission(failed, [event], expected=current.revision)


def _publish(
    current: Stored[Submission], slug: str, version: str, stopwatch: Stopwatch
) -> tuple[Submission, list[Operation]]:
    now = get_now()
    submission = msgspec.structs.replace(current.record, slug=slug, timings=stopwatch.laps)
    passed = _by_this_node("check", "passed every check; no judge is configured")
    approved, approval = move(submission, SubmissionState.AUTO_APPROVED, passed, now=now)
    done = _by_this_node("publish", f"published as {slug} {version}")
    published, publication = move(approved, SubmissionState.PUBLISHED, done, now=now)
    operations = write_submission(published, [approval, publication], expected=current.revision)
    return published, operations


def _by_this_node(trigger: str, reason: str) -> Cause:
    return Cause(trigger=trigger, actor=get_settings().node, reason=reason)
