"""Remove an entry of the blocklist, and reopen the submissions that it ended."""

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotFound
from vskill_platform.model.block import Block, BlockSubject
from vskill_platform.model.submission import (
    Cause,
    Submission,
    SubmissionState,
    reopen,
)
from vskill_platform.publish.moderation.block_skill import submission_subjects
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.block_store import (
    delete_block,
    delete_hit,
    get_block,
    get_blocks,
    list_hits,
    write_hit,
)
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import get_submission, write_submission


class Unblocked(msgspec.Struct, frozen=True, kw_only=True):
    block: Block
    #: Submissions that are queued for a new check.
    reopened: tuple[str, ...] = ()
    #: Submissions that another block still affects.
    still_blocked: tuple[str, ...] = ()


async def unblock(subject: BlockSubject, *, reason: str, actor: str) -> Unblocked:
    """Remove a block and queue the submissions it ended for a new check, in one commit."""

    async def plan() -> PlannedChange[Unblocked]:
        known = await get_block(subject)
        if known is None:
            raise NotFound(
                f"{subject.in_words()} is not on the blocklist; run `block list` to list it"
            )
        operations: list[Operation] = [delete_block(known)]
        reopened, held, skills = [], [], []
        for submission_id in await list_hits(subject):
            operations.append(delete_hit(subject, submission_id))
            stored = await get_submission(submission_id)
            if stored is None or stored.record.state is not SubmissionState.BLOCKED:
                continue
            if other := await _other_block(subject, stored.record):
                operations.append(write_hit(other, submission_id))
                held.append(submission_id)
            else:
                operations += _reopen(stored, reason=reason, actor=actor)
                reopened.append(submission_id)
                skills += [stored.record.slug] if stored.record.slug else []
        outcome = (
            f"{count_of(len(reopened), 'submission')} queued for a fresh check, "
            f"{len(held)} still blocked"
        )
        target = subject.in_words()
        operations.append(
            write_audit(
                "block remove",
                target,
                actor=actor,
                reason=reason,
                outcome=outcome,
                skills=list(dict.fromkeys(skills)),
            )
        )
        unblocked = Unblocked(
            block=known.record, reopened=tuple(reopened), still_blocked=tuple(held)
        )
        return PlannedChange(operations=operations, result=unblocked)

    return await change(subject.in_words(), plan)


def _reopen(stored: Stored[Submission], *, reason: str, actor: str) -> list[Operation]:
    cause = Cause(trigger="unblock", actor=actor, reason=f"unblocked: {reason}")
    opened, event = reopen(stored.record, cause, now=get_now())
    return [
        *write_submission(opened, [event], expected=stored.revision),
        queue_submission(opened),
    ]


async def _other_block(subject: BlockSubject, submission: Submission) -> BlockSubject | None:
    others = [other for other in submission_subjects(submission) if other != subject]
    blocks = await get_blocks(others)
    return blocks[0].record.subject if blocks else None
