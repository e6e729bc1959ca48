"""Cron job: find stuck submissions, and requeue or reject them.

intake/requeue.py does the same on an operator's request.
"""

from datetime import datetime, timedelta

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.model.submission import Cause, Submission, SubmissionState, is_stuck, move
from vskill_platform.stores.db import commit, get_now, get_queue, get_settings
from vskill_platform.stores.end_submission import reject_submission, unverified
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import (
    get_submission,
    get_submissions_fresh,
    list_overdue_ids,
    write_submission,
)

log = get_logger(__name__)

#: How long recovery waits after the first, second and third attempt.
RECOVERY_BACKOFF = (timedelta(minutes=3), timedelta(minutes=10), timedelta(minutes=30))
RECOVERIES_AT_ONCE = 64


async def recover_stuck_submissions() -> str:
    """Requeue stuck submissions that have no message; return what was done.

    Every step is a compare-and-set, so running the job twice, or on two nodes at once, has no
    further effect.
    """
    overdue = await list_overdue_ids(get_now())
    # A submission with a message is not touched: a worker will process it. This is checked first,
    # because in a long queue all submissions are overdue, and reading them every minute is slow.
    queued = await get_queue().pending(overdue)
    without_message = await _find_stuck([one for one in overdue if one not in queued])
    outcomes = await settle(_recover, without_message, at_once=RECOVERIES_AT_ONCE)
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    for error in errors:
        log.error("recovery failed", error=str(error))
    requeued = outcomes.count(SubmissionState.RECEIVED)
    rejected = outcomes.count(SubmissionState.REJECTED)
    stuck = len(queued) + len(without_message)
    return (
        f"{stuck} stuck, {len(queued)} still queued, {requeued} requeued, "
        f"{rejected} rejected, {len(errors)} failed"
    )


async def _find_stuck(submission_ids: list[str]) -> list[str]:
    now, threshold = get_now(), get_settings().stuck_threshold
    records = await get_submissions_fresh(submission_ids)
    return [one.id for one in records if is_stuck(one, now=now, stuck_threshold=threshold)]


async def _recover(submission_id: str) -> SubmissionState | None:
    """Requeue or reject one submission; return its new state, or None if it needed nothing."""
    stored = await get_submission(submission_id)
    now, threshold = get_now(), get_settings().stuck_threshold
    if stored is None or not is_stuck(stored.record, now=now, stuck_threshold=threshold):
        return None
    submission = stored.record
    if submission.recover_after and now < submission.recover_after:
        return None
    if submission.recoveries < len(RECOVERY_BACKOFF):
        operations, state = _requeue(stored, now), SubmissionState.RECEIVED
    else:
        operations, state = _fail(stored), SubmissionState.REJECTED
    return state if await commit(operations) is not None else None


def _requeue(stored: Stored[Submission], now: datetime) -> list[Operation]:
    submission = stored.record
    recovered = msgspec.structs.replace(
        submission,
        recoveries=submission.recoveries + 1,
        tries=0,
        recover_after=now + RECOVERY_BACKOFF[submission.recoveries],
    )
    times = f"{recovered.recoveries} of {len(RECOVERY_BACKOFF)}"
    reason = f"stuck in {submission.state} since {submission.updated_at:%H:%M} UTC ({times})"
    cause = Cause(trigger="recover", actor="cron", reason=reason)
    moved, event = move(recovered, SubmissionState.RECEIVED, cause, now=now)
    return [
        *write_submission(moved, [event], expected=stored.revision),
        queue_submission(moved),
    ]


def _fail(stored: Stored[Submission]) -> list[Operation]:
    reason = (
        f"it was requeued {stored.record.recoveries} times and got stuck in "
        f"{stored.record.state} again; there is no decision about the skill itself"
    )
    finding = unverified(
        rule="RUN-STUCK",
        message=f"The check never finished: {reason}.",
        fix="Submit it again; if that does not help, contact the operator.",
    )
    return reject_submission(stored, Cause(trigger="recover", actor="cron", reason=reason), finding)
