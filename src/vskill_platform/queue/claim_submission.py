"""Find the submission of a message, and claim it for its check.

A submission is claimed when its check begins, not when its message is received: the skill is
charged with a failed try only if the worker dies during the check. docs/decisions/0018 says why.
"""

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Acknowledge, Delivery, Operation, Release
from vskill_platform.errors import Overtaken, WorkerDied
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    Cause,
    Submission,
    SubmissionState,
    move,
)
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.end_submission import end_if_blocked
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_messages import read_message
from vskill_platform.stores.submission_store import (
    expect_submission,
    get_submission,
    write_submission,
)

log = get_logger(__name__)

#: How many more tries a suspect gets, each with no other check running. More than one, because
#: another cause may kill the worker again.
TRIES_ALONE = 3
#: After how many deliveries whose worker died before the check a skill becomes a suspect, and after
#: how many it is rejected. These deaths say little about the skill, so both numbers are high.
SUSPECT_AFTER_LOST, END_AFTER_LOST = 10, 40


async def find_submission(delivery: Delivery) -> Stored[Submission] | None:
    """Return the submission of a message.

    If there is nothing left to do, remove the message and return None. The removal expects the
    submission unchanged: someone may submit it again at this moment, which queues no second
    message.
    """
    submission_id = read_message(delivery.body).submission_id
    stored = await get_submission(submission_id)
    if stored is None:
        log.warning("message without a submission", submission=submission_id)
        await commit([Acknowledge(delivery)])
        return None
    if stored.record.state not in IN_PROGRESS_STATES:
        operations: list[Operation] = [expect_submission(stored)]
    elif blocked := await end_if_blocked(stored):  # before anything is fetched
        _, operations = blocked
    else:
        return stored
    if await commit([*operations, Acknowledge(delivery)]) is None:
        raise Overtaken(f"{submission_id} was changed by another process")
    return None


def is_suspect(submission: Submission, delivery: Delivery) -> bool:
    """Return whether this skill may be killing its workers; such a skill is checked alone.

    Raises WorkerDied if a worker died even then.
    """
    too_many = get_settings().max_retries + 1
    lost = delivery.attempt - 1 - submission.tries
    if submission.tries >= too_many + TRIES_ALONE or lost > END_AFTER_LOST:
        raise WorkerDied(
            f"the worker crashed {count_of(delivery.attempt - 1, 'time')} while processing it, "
            f"even when it ran alone"
        )
    return submission.tries >= too_many or lost > SUSPECT_AFTER_LOST


async def claim_submission(stored: Stored[Submission], delivery: Delivery) -> Stored[Submission]:
    """Move the submission to TIER1_SCANNING; this counts as a try until its check has ended."""
    now, node = get_now(), get_settings().node
    submission = msgspec.structs.replace(
        stored.record,
        attempts=stored.record.attempts + 1,
        tries=stored.record.tries + 1,
        counted=_name(delivery),
    )
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
        raise Overtaken(f"{submission.id} was changed by another process")
    return Stored(submission, revision)


def is_counted(submission: Submission, delivery: Delivery) -> bool:
    """Return whether this delivery's try is counted already."""
    return submission.counted == _name(delivery)


async def release_submission(delivery: Delivery) -> None:
    """Return a message to the queue without a result; the try does not count."""
    operations: list[Operation] = [Release(delivery)]
    stored = await get_submission(read_message(delivery.body).submission_id)
    if stored and is_counted(stored.record, delivery) and stored.record.state in IN_PROGRESS_STATES:
        reason = "the worker was stopped; this attempt does not count"
        cause = Cause(trigger="redeliver", actor=get_settings().node, reason=reason)
        uncounted = msgspec.structs.replace(
            stored.record, tries=stored.record.tries - 1, counted=None
        )
        moved, event = move(uncounted, SubmissionState.RECEIVED, cause, now=get_now())
        operations += write_submission(moved, [event], expected=stored.revision)
    if await commit(operations) is None:
        log.info("message not released: another worker has it", submission=delivery.key)


def _name(delivery: Delivery) -> str:
    return f"{delivery.message_id}.{delivery.token}"
