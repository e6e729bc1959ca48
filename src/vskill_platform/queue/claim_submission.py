"""Taking a submission in hand, so that everybody sees who works on it."""

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.ports import Delivery
from vskill_platform.errors import Overtaken
from vskill_platform.model.submission import (
    STUCK_STATES,
    Cause,
    Submission,
    SubmissionState,
    move,
)
from vskill_platform.stores.block_submission import end_if_blocked
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import get_submission, read_message, write_submission

log = get_logger(__name__)


async def claim_submission(delivery: Delivery) -> Stored[Submission] | None:
    """Move the submission to TIER1_SCANNING; None if there is nothing left to do for it."""
    submission_id = read_message(delivery.body).submission_id
    stored = await get_submission(submission_id)
    if stored is None:
        log.warning("message without a submission", submission=submission_id)
        return None
    if stored.record.state not in STUCK_STATES:
        return None
    if blocked := await end_if_blocked(stored):  # nothing of it is fetched
        _, operations = blocked
        if await commit(operations) is None:
            raise Overtaken(f"{submission_id} was changed by somebody else")
        return None
    now, node = get_now(), get_settings().node
    submission = msgspec.structs.replace(stored.record, attempts=stored.record.attempts + 1)
    events = []
    if submission.state is not SubmissionState.RECEIVED:
        cause = Cause(trigger="redeliver", actor=node, reason="the last worker did not finish")
        submission, event = move(submission, SubmissionState.RECEIVED, cause, now=now)
        events.append(event)
    cause = Cause(trigger="claim", actor=node, reason=f"attempt {submission.attempts}")
    submission, event = move(submission, SubmissionState.TIER1_SCANNING, cause, now=now)
    events.append(event)
    revision = await commit(write_submission(submission, events, expected=stored.revision))
    if revision is None:
        raise Overtaken(f"{submission_id} was changed by somebody else")
    return Stored(submission, revision)
