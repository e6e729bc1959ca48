"""Retry finished submissions and requeue stuck ones, on request.

cron/recover_stuck.py requeues stuck ones automatically.
"""

from collections.abc import Sequence

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidTransition, NotFound, Overtaken, VskillError
from vskill_platform.intake.count_submission import count_submission
from vskill_platform.model.source import SourceKind
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    Cause,
    Submission,
    SubmissionState,
    reopen,
)
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import (
    get_stuck_submissions,
    get_submission,
    write_submission,
)
from vskill_platform.stores.upload_store import get_upload

_S = SubmissionState
#: Final states after which the same source may be retried. Blocked ones wait for an unblock, and
#: published ones are checked again by submitting or by a rescan.
RETRYABLE_STATES = frozenset({_S.REJECTED, _S.TIER1_FAILED, _S.DEQUEUED})
_AT_ONCE = 16


async def retry(submission_id: str, *, actor: str, may_replace_ref: bool = False) -> Submission:
    """Restart a finished submission with the current content of its source."""
    stored = await _find(submission_id)
    submission = stored.record
    if submission.state not in RETRYABLE_STATES:
        raise InvalidTransition(_why_not(submission))
    if submission.source.kind is SourceKind.UPLOAD:
        await _check_files(submission)
    counted = await count_submission(submission.source)
    allowed = msgspec.structs.replace(submission, may_replace_ref=may_replace_ref)
    stored = Stored(allowed, stored.revision)
    return await _start(stored, "retry", actor=actor, reason="retried", also=counted)


async def requeue(submission_id: str, *, actor: str) -> Submission:
    """Requeue a stuck submission with a fresh retry budget."""
    stored = await _find(submission_id)
    if stored.record.state not in IN_PROGRESS_STATES:
        raise InvalidTransition(f"it is not stuck: it is {stored.record.state}")
    audit = write_audit("requeue", submission_id, actor=actor, reason="it was stuck")
    return await _start(stored, "requeue", actor=actor, reason="requeued", also=[audit])


async def requeue_all_stuck(*, actor: str) -> tuple[list[Submission], list[str]]:
    """Requeue all stuck submissions; return those requeued, and the errors of the others."""
    stuck = await get_stuck_submissions(get_now())
    return await requeue_each([one.id for one in stuck], actor=actor)


async def requeue_each(
    submission_ids: Sequence[str], *, actor: str
) -> tuple[list[Submission], list[str]]:
    """Requeue several; one failure does not affect the others."""

    async def one(submission_id: str) -> Submission:
        return await requeue(submission_id, actor=actor)

    ids = list(dict.fromkeys(submission_ids))
    done: list[Submission] = []
    failed: list[str] = []
    for submission_id, outcome in zip(ids, await settle(one, ids, at_once=_AT_ONCE), strict=True):
        if isinstance(outcome, Submission):
            done.append(outcome)
        elif isinstance(outcome, VskillError):
            failed.append(f"{submission_id}: {outcome}")
        else:
            raise outcome
    return done, failed


async def _find(submission_id: str) -> Stored[Submission]:
    stored = await get_submission(submission_id)
    if stored is None:
        raise NotFound(f"there is no submission {submission_id!r}")
    return stored


async def _check_files(submission: Submission) -> None:
    if await get_upload(submission.source.upload_sha256) is None:
        raise NotFound("the uploaded files are no longer stored; upload them again")


def _why_not(submission: Submission) -> str:
    if submission.state is SubmissionState.BLOCKED:
        return "it is blocked; only an operator can unblock it"
    if submission.state is SubmissionState.PUBLISHED:
        return "it is published; to check new content, submit its source again"
    if submission.state is SubmissionState.NEEDS_REVIEW:
        return "it needs review; a reviewer can run the checks again"
    return f"it is already in progress: {submission.state}"


async def _start(
    stored: Stored[Submission], trigger: str, *, actor: str, reason: str, also: list[Operation]
) -> Submission:
    cause = Cause(trigger=trigger, actor=actor, reason=reason)
    opened, event = reopen(stored.record, cause, now=get_now())
    operations = [
        *also,
        *write_submission(opened, [event], expected=stored.revision),
        queue_submission(opened),
    ]
    if await commit(operations) is None:
        raise Overtaken("its state has just changed; check it again")
    return opened
