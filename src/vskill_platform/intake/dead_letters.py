"""Requeue or drop a dead letter."""

from vskill_platform.engines.ports import DeadLetter, Drop, Operation, Revive
from vskill_platform.errors import NotFound
from vskill_platform.model.submission import STUCK_STATES, Cause, Submission, reopen
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now, get_queue
from vskill_platform.stores.submission_store import (
    get_submission,
    read_message,
    write_submission,
)


async def revive_dead_letter(message_id: int, *, actor: str) -> Submission | None:
    """Requeue a dead letter and reopen its submission, both or neither."""
    letter = await _dead_letter(message_id)
    operations: list[Operation] = [Revive(message_id)]
    stored = await get_submission(read_message(letter.body).submission_id)
    submission = stored.record if stored else None
    if stored and stored.record.state not in STUCK_STATES:
        cause = Cause(trigger="revive", actor=actor, reason="requeued from the dead letters")
        submission, event = reopen(stored.record, cause, now=get_now())
        operations += write_submission(submission, [event], expected=stored.revision)
    subject = submission.id if submission else str(message_id)
    operations.append(write_audit("dead-letters revive", subject, actor=actor, reason=""))
    await _act(message_id, operations)
    return submission


async def drop_dead_letter(message_id: int, *, actor: str) -> None:
    """Delete a dead letter; its submission keeps its state and reason."""
    subject = read_message((await _dead_letter(message_id)).body).submission_id
    audit = write_audit("dead-letters drop", subject, actor=actor, reason="")
    await _act(message_id, [Drop(message_id), audit])


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
