"""The end of processing: publish, reject or hold for review, and the operations for each."""

import asyncio

import msgspec

from vskill_platform.base.metrics import count_verdict
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import DeletedMeanwhile
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.decision import Decision, Outcome
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.submission import (
    Cause,
    Submission,
    SubmissionState,
    Waiting,
    move,
    wait,
)
from vskill_platform.model.verdict import BLOCKING, Report, in_order
from vskill_platform.publish.moderation.hold_skill import hold_skill
from vskill_platform.publish.versions.apply_registry_rules import (
    build_report,
    decide_about,
    describe,
)
from vskill_platform.publish.versions.choose_slug import expect_publishable
from vskill_platform.publish.versions.publish_skill import (
    Publication,
    prepare_publication,
    publish,
)
from vskill_platform.queue.judge_submission import Judged
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.end_submission import end_if_blocked, withdraw_deleted
from vskill_platform.stores.external_scan_store import ExternalScan, write_external_scan
from vskill_platform.stores.held_store import release_held
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report
from vskill_platform.stores.source_submissions import describe_other_ref
from vskill_platform.stores.submission_store import write_submission


class Conclusion(msgspec.Struct, frozen=True):
    submission: Submission
    operations: list[Operation]


async def conclude_submission(
    judged: Judged, snapshot: Snapshot, stopwatch: Stopwatch
) -> Conclusion:
    """Decide by the findings; return the new state and all operations."""
    scanned = judged.scanned
    described = describe(judged.submission.record, snapshot, scanned)
    submission = msgspec.structs.replace(described, timings=stopwatch.laps)
    current = Stored(submission, judged.submission.revision)
    report = build_report(submission, snapshot, scanned, judged.judgement)
    decision = decide_about(submission, scanned)
    count_verdict(report.verdict)
    try:
        if scanned.manifest and decision.outcome is Outcome.PUBLISH and not judged.unanswered:
            passed = _Passed(
                current, report, decision, snapshot, scanned.manifest, scanned.measured()
            )
            return await _publish_unless_blocked(passed, stopwatch)
        return await _conclude_unpassed(judged, snapshot, current, report, decision)
    except DeletedMeanwhile as error:
        return Conclusion(*await withdraw_deleted(current, str(error), actor=error.by))


async def _conclude_unpassed(
    judged: Judged,
    snapshot: Snapshot,
    current: Stored[Submission],
    report: Report,
    decision: Decision,
) -> Conclusion:
    """Handle a skill that did not pass: reject it, or let it wait for scanners or a reviewer."""
    submission = current.record
    if blocked := await end_if_blocked(current, report=report):
        return Conclusion(*blocked)
    if judged.unanswered:
        return _wait(current, report, judged.unanswered)
    report = msgspec.structs.replace(report, decided=decision.clause)
    if judged.scanned.manifest is None or decision.outcome is Outcome.REJECT:
        is_tier2 = submission.state is SubmissionState.TIER2_SCANNING
        end = SubmissionState.REJECTED if is_tier2 else SubmissionState.TIER1_FAILED
        return _stop(current, report, decision, end)
    waits = _stop(current, report, decision, SubmissionState.NEEDS_REVIEW)
    return await _hold(waits, submission, snapshot)


class _Passed(msgspec.Struct, frozen=True):
    """A submission that may be published, with everything needed to publish it."""

    current: Stored[Submission]
    report: Report
    decision: Decision
    snapshot: Snapshot
    manifest: SkillManifest
    sketch: SkillSketch


async def _publish_unless_blocked(passed: _Passed, stopwatch: Stopwatch) -> Conclusion:
    """Publish a skill that passed. All records needed for this are read together."""
    current, report, submission = passed.current, passed.report, passed.current.record
    blocked, publication, held = await asyncio.gather(
        end_if_blocked(current, report=report),
        prepare_publication(
            submission, passed.snapshot, passed.manifest, sketch=passed.sketch,
            now=report.checked_at,
        ),
        release_held(submission.id),
        return_exceptions=True,
    )  # fmt: skip
    if isinstance(blocked, BaseException):
        raise blocked
    if blocked:  # takes precedence over any other problem
        return Conclusion(*blocked)
    if isinstance(publication, BaseException):
        raise publication
    if isinstance(held, BaseException):
        raise held
    report = msgspec.structs.replace(report, decided=passed.decision.clause)
    if other := await _other_ref(submission):
        waits = _leave_to_review(current, report, other)
        return await _hold(waits, submission, passed.snapshot)
    stopwatch.lap("publish")
    published = _publish(passed, report, publication)
    return Conclusion(published.submission, [*published.operations, *held])


async def _hold(waits: Conclusion, submission: Submission, snapshot: Snapshot) -> Conclusion:
    """Keep the files for the reviewer; a submission that entered tier 2 has kept them already.

    A skill that no reviewer could approve is refused instead.
    """
    expected = await expect_publishable(submission)
    is_tier2 = submission.state is SubmissionState.TIER2_SCANNING
    held = [] if is_tier2 else await hold_skill(submission, snapshot)
    return Conclusion(waits.submission, [*expected, *waits.operations, *held])


async def _other_ref(submission: Submission) -> str:
    """Describe the published ref that this submission may not replace; "" if there is none.

    It may have been published after this submission was made. Call this after the publication is
    prepared: its commit expects the skill unchanged since then, so it fails if another ref is
    published later.
    """
    return "" if submission.may_replace_ref else await describe_other_ref(submission.source)


def _leave_to_review(current: Stored[Submission], report: Report, other: str) -> Conclusion:
    reason = f"needs review: the skill is published from {other}; this would replace it"
    cause = _by_this_node("check", reason, current.record.timings)
    waits, event = move(current.record, SubmissionState.NEEDS_REVIEW, cause, now=report.checked_at)
    operations = write_submission(waits, [event], expected=current.revision)
    return Conclusion(
        waits, [*operations, write_report(msgspec.structs.replace(report, decided=reason))]
    )


def _stop(
    current: Stored[Submission], report: Report, decision: Decision, state: SubmissionState
) -> Conclusion:
    """Reject the submission or hold it for review, with the most severe finding as the reason."""
    blocking = [
        item for item in report.findings if item.severity in BLOCKING and not item.is_informational
    ]
    first = in_order((*decision.deciding, *blocking) or report.findings)[0]
    others = len(blocking) - (first in blocking)
    more = f", and {count_of(others, 'more finding')}"
    why = f"{first.message.removesuffix('.')}{more}" if others else first.message
    waits = "needs review: " if state is SubmissionState.NEEDS_REVIEW else ""
    cause = _by_this_node("check", f"{waits}{why}", current.record.timings)
    stopped, event = move(current.record, state, cause, now=report.checked_at)
    operations = write_submission(stopped, [event], expected=current.revision)
    return Conclusion(stopped, [*operations, write_report(report)])


def _wait(
    current: Stored[Submission], report: Report, scans: tuple[Stored[ExternalScan], ...]
) -> Conclusion:
    """Wait without a message for the scanners; a result that arrives meanwhile fails the commit."""
    names = tuple(scan.record.provider for scan in scans)
    # Later than the job that ends overdue scans: recovery is the fallback for that job.
    until = max(scan.record.deadline for scan in scans) + get_settings().stuck_threshold
    reason = f"waiting for {', '.join(names)}, until {until:%H:%M} UTC at the latest"
    waiting = Waiting(scanners=names, until=until)
    waits = wait(current.record, waiting, reason=reason, now=report.checked_at)
    held = [write_external_scan(scan.record, expected=scan.revision) for scan in scans]
    operations = write_submission(waits, [], expected=current.revision)
    return Conclusion(waits, [*operations, *held, write_report(report)])


def _publish(passed: _Passed, report: Report, publication: Publication) -> Conclusion:
    words = f"passed all checks{_suppressed(report)}; {_opinion_of_the_judge(report)}"
    way = SubmissionState.AUTO_APPROVED
    if passed.decision.is_by_trust:
        words, way = passed.decision.clause, SubmissionState.VENDOR_APPROVED
    checked = _by_this_node("check", words, passed.current.record.timings)
    done = _by_this_node("publish", publication.in_words(), {})
    steps = [(way, checked), (SubmissionState.PUBLISHED, done)]
    return Conclusion(*publish(passed.current, publication, report, steps))


def _suppressed(report: Report) -> str:
    """Explain in the reason if the skill passed only because of the policy."""
    suppressed = sum(finding.is_suppressed for finding in report.findings)
    return f" ({count_of(suppressed, 'finding')} suppressed by the policy)" if suppressed else ""


def _opinion_of_the_judge(report: Report) -> str:
    if report.judgement:
        return f"approved by the judge ({report.judgement.model})"
    has_judge = bool(get_settings().judge_url)
    return "the judge's budget is used up" if has_judge else "no judge is configured"


def _by_this_node(trigger: str, reason: str, timings: dict[str, float]) -> Cause:
    return Cause(trigger=trigger, actor=get_settings().node, reason=reason, timings=timings)
