"""Handle a submission whose processing failed: retry it, or end it with a reason."""

from datetime import timedelta
from enum import StrEnum

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import (
    Acknowledge,
    Bury,
    Delivery,
    Operation,
    Release,
    Retry,
)
from vskill_platform.errors import (
    BlobMissing,
    DeadlineExceeded,
    DeletedMeanwhile,
    EngineError,
    JudgeFailed,
    NamespaceDeleted,
    Overtaken,
    ScanError,
    ScannerFailed,
    SlugTaken,
    SourceError,
    VskillError,
    WorkerDied,
)
from vskill_platform.model.source import Source, without_local_path
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    Cause,
    Submission,
    SubmissionState,
    move,
)
from vskill_platform.model.verdict import Verdict
from vskill_platform.publish.versions.choose_slug import expect_publishable
from vskill_platform.queue.claim_submission import is_counted
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.end_submission import (
    reject_submission,
    unverified,
    withdraw_deleted,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import get_report, write_report
from vskill_platform.stores.submission_messages import read_message
from vskill_platform.stores.submission_store import (
    expect_submission,
    get_submission,
    write_submission,
)

log = get_logger(__name__)


class ErrorClass(StrEnum):
    """A kind of failure, and the rule of the finding that tells the submitter about it."""

    TIMEOUT = "RUN-TIMEOUT"
    SOURCE = "RUN-SOURCE"
    SCANNER = "RUN-SCANNER"
    JUDGE = "RUN-JUDGE"
    EXTERNAL = "RUN-EXTERNAL"
    DATABASE = "RUN-DATABASE"
    NAME = "RUN-NAME"
    NAMESPACE = "RUN-NAMESPACE"
    INTERNAL = "RUN-INTERNAL"


_CLASSES: tuple[tuple[type[Exception], ErrorClass, str], ...] = (
    (DeadlineExceeded, ErrorClass.TIMEOUT, "Make the repo or the skill smaller, or try later."),
    (SourceError, ErrorClass.SOURCE, "Correct the source, then submit it again."),
    (
        JudgeFailed,
        ErrorClass.JUDGE,
        "A reviewer will decide. The operator can also run the judge again.",
    ),
    (
        ScannerFailed,
        ErrorClass.EXTERNAL,
        "A reviewer will decide. The operator can fix the scanner.",
    ),
    (
        ScanError,
        ErrorClass.SCANNER,
        "Submit it again; if that does not help, contact the operator.",
    ),
    (WorkerDied, ErrorClass.SCANNER, "Contact the operator, who can requeue it."),
    (
        NamespaceDeleted,
        ErrorClass.NAMESPACE,
        "Submit it under another namespace, or ask an admin to open this one again.",
    ),
    (SlugTaken, ErrorClass.NAME, "Choose another `name` in SKILL.md, then submit it again."),
    (EngineError, ErrorClass.DATABASE, "Tell the operator that the database failed."),
)


async def fail_submission(delivery: Delivery, error: Exception) -> None:
    """Retry or end the message and its submission after *error*, in one commit."""
    found = await get_submission(read_message(delivery.body).submission_id)
    if found is None:
        operations: list[Operation] = [Acknowledge(delivery)]
    elif found.record.state not in IN_PROGRESS_STATES:
        await _acknowledge(found, delivery)
        return
    else:
        stored = _count(found, delivery)
        if isinstance(error, Overtaken):
            # Another worker also had the message, after a stop or a clock jump: the skill is fine.
            operations = _try_again(found, delivery, error)
        elif is_retryable(error) and stored.record.tries <= get_settings().max_retries:
            operations = _try_again(stored, delivery, error)
        elif _is_dead_letter(error) and stored.record.state is SubmissionState.TIER2_SCANNING:
            operations = await _hold_or_end(stored, delivery, error)
        else:
            operations = _end(stored, delivery, error)
    if await commit(operations) is None:
        # Another worker has the message, or someone changed the submission: that wins.
        log.info(
            "failure not recorded: the submission has changed",
            message=delivery.message_id,
            error=str(error),
        )


async def _acknowledge(ended: Stored[Submission], delivery: Delivery) -> None:
    """Remove the message of a final submission; return it to the queue if that was resubmitted."""
    if await commit([expect_submission(ended), Acknowledge(delivery)]) is None:
        await commit([Release(delivery)])


def is_retryable(error: Exception) -> bool:
    """Return whether the error can be retried; an unexpected error may be temporary, so it can."""
    return error.retryable if isinstance(error, VskillError) else True


def _is_dead_letter(error: Exception) -> bool:
    """Return whether another try might have helped, so that an operator can requeue it."""
    return is_retryable(error) or isinstance(error, WorkerDied)


def _count(stored: Stored[Submission], delivery: Delivery) -> Stored[Submission]:
    """Count the try that failed, unless the claim has counted it already."""
    submission = stored.record
    if is_counted(submission, delivery):
        return stored
    # Each claim counts one attempt, and the submission was claimed before tier 2.
    is_unclaimed = submission.state is SubmissionState.RECEIVED
    counted = msgspec.structs.replace(
        submission, tries=submission.tries + 1, attempts=submission.attempts + is_unclaimed
    )
    return Stored(counted, stored.revision)


def classify(error: Exception) -> tuple[ErrorClass, str]:
    for kind, error_class, fix in _CLASSES:
        if isinstance(error, kind):
            return error_class, fix
    return ErrorClass.INTERNAL, "Contact the operator, who finds the details in the log."


def _try_again(stored: Stored[Submission], delivery: Delivery, error: Exception) -> list[Operation]:
    delay: timedelta = get_settings().retry_delay * max(stored.record.tries, 1)
    if isinstance(error, VskillError) and error.retry_after:
        delay = max(delay, error.retry_after)
    what = _describe(error, stored.record.source)
    reason = f"will be retried in {delay.total_seconds():g} s: {what}"
    cause = Cause(trigger="retry", actor=get_settings().node, reason=reason)
    waiting, event = move(stored.record, SubmissionState.RECEIVED, cause, now=get_now())
    return [
        *write_submission(waiting, [event], expected=stored.revision),
        Retry(delivery, delay, reason),
    ]


def _end(stored: Stored[Submission], delivery: Delivery, error: Exception) -> list[Operation]:
    error_class, fix = classify(error)
    reason = _describe(error, stored.record.source)
    if is_retryable(error):
        reason = f"failed after {count_of(stored.record.tries, 'attempt')}: {reason}"
    finding = unverified(rule=error_class, message=reason, fix=fix)
    cause = Cause(trigger="fail", actor=get_settings().node, reason=reason)
    return [
        *reject_submission(stored, cause, finding),
        Bury(delivery, reason) if _is_dead_letter(error) else Acknowledge(delivery),
    ]


async def _hold_or_end(
    stored: Stored[Submission], delivery: Delivery, error: Exception
) -> list[Operation]:
    try:
        return await _hold_for_review(stored, delivery, error)
    except DeletedMeanwhile as deleted:
        _, operations = await withdraw_deleted(stored, str(deleted), actor=deleted.by)
        return [*operations, Acknowledge(delivery)]
    except (NamespaceDeleted, SlugTaken) as refused:  # no reviewer could approve it
        return _end(stored, delivery, refused)


async def _hold_for_review(
    stored: Stored[Submission], delivery: Delivery, error: Exception
) -> list[Operation]:
    """End tier 2 without a verdict: tier 1 passed, but a scanner or the judge did not respond."""
    error_class, fix = classify(error)
    what = "not scanned" if isinstance(error, ScannerFailed) else "not judged"
    why = _describe(error, stored.record.source)
    reason = f"{what}, failed after {count_of(stored.record.tries, 'attempt')}: {why}"
    finding = unverified(rule=error_class, message=reason, fix=fix)
    cause = Cause(
        trigger="fail",
        actor=get_settings().node,
        reason=f"needs review: {reason}",
    )
    waiting, event = move(stored.record, SubmissionState.NEEDS_REVIEW, cause, now=get_now())
    operations = [
        *await expect_publishable(waiting),
        *write_submission(waiting, [event], expected=stored.revision),
    ]
    report = await get_report(waiting.id)  # the report of tier 1
    if report:
        unjudged = msgspec.structs.replace(
            report,
            verdict=Verdict.REVIEW,
            score=None,
            findings=(finding, *report.findings),
            decided=reason,
        )
        operations.append(write_report(unjudged))
    return [*operations, Bury(delivery, reason)]


def _describe(error: Exception, source: Source) -> str:
    """Explain what happened. This is public, so details of this machine go only to the log."""
    if isinstance(error, BlobMissing):
        return "the uploaded files are missing in the archive storage"
    if isinstance(error, EngineError):
        return "the database failed"
    if isinstance(error, VskillError):
        return without_local_path(str(error), source)
    return f"internal error ({type(error).__name__})"
