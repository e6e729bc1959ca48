"""Requeue or drop a dead letter.

Dead letters are made by `queue/fail_submission.py` and `queue/background.py`.
"""

from vskill_platform.engines.operations import Drop, Operation, Requeue
from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import NotFound
from vskill_platform.model.submission import IN_PROGRESS_STATES, Cause, Submission, reopen
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.background_store import forget_failure, read_background
from vskill_platform.stores.db import commit, get_now, get_queue
from vskill_platform.stores.submission_messages import is_submission_message, read_message
from vskill_platform.stores.submission_store import get_submission, write_submission


async def requeue_dead_letter(message_id: int, *, actor: str) -> Submission | None:
    """Requeue a dead letter and reopen its submission in one commit.

    Returns None if it has no submission, or if that was removed.
    """
    letter = await _dead_letter(message_id)
    operations: list[Operation] = [Requeue(message_id)]
    if not is_submission_message(letter.body):
        if message := read_background(letter.body):
            operations += await forget_failure(message)
        audit = write_audit("dead-letters requeue", _name(letter), actor=actor, reason="")
        await _act(message_id, [*operations, audit])
        return None
    stored = await get_submission(read_message(letter.body).submission_id)
    submission = stored.record if stored else None
    if stored and stored.record.state not in IN_PROGRESS_STATES:
        # The trigger is stored in events, under the name of earlier releases.
        cause = Cause(trigger="revive", actor=actor, reason="requeued from the dead letters")
        submission, event = reopen(stored.record, cause, now=get_now())
        operations += write_submission(submission, [event], expected=stored.revision)
    subject = submission.id if submission else str(message_id)
    operations.append(write_audit("dead-letters requeue", subject, actor=actor, reason=""))
    await _act(message_id, operations)
    return submission


async def drop_dead_letter(message_id: int, *, actor: str) -> None:
    """Delete a dead letter; its submission keeps its state and reason."""
    subject = _name(await _dead_letter(message_id))
    audit = write_audit("dead-letters drop", subject, actor=actor, reason="")
    await _act(message_id, [Drop(message_id), audit])


def _name(letter: DeadLetter) -> str:
    """Return the submission of a dead letter, or otherwise its key."""
    if is_submission_message(letter.body):
        return read_message(letter.body).submission_id
    return letter.key or str(letter.message_id)


async def _dead_letter(message_id: int) -> DeadLetter:
    letters = await get_queue().dead_letters(after=message_id - 1, limit=1)
    if not letters or letters[0].message_id != message_id:
        raise _not_found(message_id)
    return letters[0]


async def _act(message_id: int, operations: list[Operation]) -> None:
    if await commit(operations) is None:
        raise _not_found(message_id)


def _not_found(message_id: int) -> NotFound:
    return NotFound(f"there is no dead letter {message_id}; run `dead-letters list` to list all")
