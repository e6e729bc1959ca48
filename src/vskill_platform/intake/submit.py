"""The one way in: a source becomes a submission that is stored and queued, once."""

import posixpath
from enum import StrEnum

import msgspec

from vskill_platform.errors import EngineError
from vskill_platform.model.source import Source
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    Cause,
    Submission,
    SubmissionState,
    open_submission,
    reopen,
)
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import Stored
from vskill_platform.stores.submission_store import (
    get_source_owner,
    get_submission,
    new_submission_id,
    queue_submission,
    write_new_submission,
    write_submission,
)

#: Each try meets another writer that was faster; so many in a row are a fault.
_MAX_TRIES = 20


class SubmitKind(StrEnum):
    CREATED = "created"
    #: It is on its way already.
    PENDING = "pending"
    #: It had ended; the same record starts again.
    REQUEUED = "requeued"


class SubmitResult(msgspec.Struct, frozen=True, kw_only=True):
    kind: SubmitKind
    submission: Submission


async def submit(source: Source, *, submitter: str) -> SubmitResult:
    """Store and queue a source; equal submissions at once make one record."""
    for _ in range(_MAX_TRIES):
        owner = await get_source_owner(source)
        existing = await get_submission(owner) if owner else None
        result = (
            await _reopen(existing, submitter) if existing else await _create(source, submitter)
        )
        if result:
            return result
    raise EngineError(f"{source.key} is being changed by too many others; try again")


async def _create(source: Source, submitter: str) -> SubmitResult | None:
    now = get_now()
    draft = Submission(
        id=new_submission_id(now),
        source=source,
        repo_url=source.url,
        skill_name=posixpath.basename(source.path or source.url),
        skill_path=source.path,
        state=SubmissionState.RECEIVED,
        submitter=submitter,
        created_at=now,
        updated_at=now,
    )
    cause = Cause(trigger="submit", actor=submitter, reason="submitted")
    submission, event = open_submission(draft, cause)
    if await commit(write_new_submission(submission, event)) is None:
        return None
    return SubmitResult(kind=SubmitKind.CREATED, submission=submission)


async def _reopen(existing: Stored[Submission], submitter: str) -> SubmitResult | None:
    submission = existing.record
    waits_for_a_person = submission.state is SubmissionState.NEEDS_REVIEW
    if submission.state not in TERMINAL_STATES and not waits_for_a_person:
        return SubmitResult(kind=SubmitKind.PENDING, submission=submission)
    cause = Cause(trigger="submit", actor=submitter, reason="submitted again")
    reopened, event = reopen(submission, cause, now=get_now())
    operations = [
        *write_submission(reopened, [event], expected=existing.revision),
        queue_submission(reopened.id),
    ]
    if await commit(operations) is None:
        return None
    return SubmitResult(kind=SubmitKind.REQUEUED, submission=reopened)
