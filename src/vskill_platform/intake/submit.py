"""Submit a source: store and queue a submission for it, exactly once."""

import posixpath
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

import msgspec

from vskill_platform.base.tracing import record_span
from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.intake.count_submission import count_submission
from vskill_platform.intake.submission_request import SubmissionRequest, is_unchanged
from vskill_platform.model.block import Block
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    Cause,
    StateEvent,
    Submission,
    SubmissionState,
    open_submission,
    reopen,
)
from vskill_platform.stores.blob_store import KeptOnce
from vskill_platform.stores.block_store import expect_block, find_block
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import check_free_space, get_now, get_queue
from vskill_platform.stores.end_submission import block_submission, why_blocked
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import expect_skill, find_skill
from vskill_platform.stores.source_submissions import list_skills_of
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import (
    get_source_owner,
    get_submission,
    new_submission_id,
    write_beginning,
    write_new_submission,
    write_submission,
)
from vskill_platform.stores.upload_store import write_upload


class SubmitKind(StrEnum):
    CREATED = "created"
    #: Already in progress or in review.
    PENDING = "pending"
    #: It is published with the same content, so nothing is scanned.
    ALREADY_VERIFIED = "already_verified"
    #: It was finished, or there is new content: the same record starts again.
    REQUEUED = "requeued"
    #: It is blocked; only an unblock reopens it.
    BLOCKED = "blocked"


#: Result for unchanged content, by state.
_ANSWERS = {
    SubmissionState.PUBLISHED: SubmitKind.ALREADY_VERIFIED,
    SubmissionState.NEEDS_REVIEW: SubmitKind.PENDING,
}


class Submitter(msgspec.Struct, frozen=True):
    name: str
    group: str
    may_replace_ref: bool


class SubmitResult(msgspec.Struct, frozen=True, kw_only=True):
    kind: SubmitKind
    submission: Submission
    #: Its position in the queue: 1 is next, 0 means that a worker holds it, None that it is not
    #: queued, and MAX_POSITION + 1 that it is further back than we count.
    position: int | None = None
    #: Why it is blocked; empty if it is not.
    reason: str = ""


async def submit(
    wanted: Source | SubmissionRequest,
    *,
    submitter: str,
    group: str = "",
    may_replace_ref: bool = False,
    also: Callable[[], Awaitable[Sequence[Operation]]] | None = None,
) -> SubmitResult:
    """Store and queue a request; equal submissions at the same time make one record.

    Groups take turns in the queue; by default, *group* is the submitter. *may_replace_ref* is the
    right to replace a version published from another ref. *also* returns further operations for the
    commit that stores the submission; it is called again for each attempt.
    """
    by = Submitter(submitter, group, may_replace_ref)
    request = wanted if isinstance(wanted, SubmissionRequest) else SubmissionRequest(source=wanted)
    if request.upload is not None:
        files = KeptOnce(request.source.upload_sha256, request.upload)
        request = msgspec.structs.replace(request, files=files)

    async def plan() -> PlannedChange[SubmitResult]:
        owner = await get_source_owner(request.source)
        existing = await get_submission(owner) if owner else None
        planned = await (_answer(existing, request, by) if existing else _create(request, by))
        if not planned.operations or also is None:
            return planned
        operations = [*planned.operations, *await also()]
        return PlannedChange(operations=operations, result=planned.result)

    result = await change(request.source.key, plan)
    record_span(result.submission.id, "submit", kind=result.kind)
    position = await get_queue().position(result.submission.id)
    return msgspec.structs.replace(result, position=position)


async def _create(request: SubmissionRequest, by: Submitter) -> PlannedChange[SubmitResult]:
    await check_free_space()
    now, source = get_now(), request.source
    skills = await list_skills_of(source.url, source.path)
    draft = Submission(
        id=new_submission_id(now),
        source=source,
        repo_url=source.url,
        skill_name=posixpath.basename(source.path or source.url),
        skill_path=source.path,
        state=SubmissionState.RECEIVED,
        submitter=by.name,
        created_at=now,
        updated_at=now,
        set_id=request.set_id,
        # Other refs of a private skill are also private.
        is_private=request.is_private or any(skill.record.is_private for skill in skills),
        may_replace_ref=by.may_replace_ref,
        requested_version=request.version,
    )
    cause = Cause(trigger="submit", actor=by.name, reason="submitted")
    submission, event = open_submission(draft, cause)
    if known := await find_block(source, name=submission.skill_name):
        return await _create_blocked(request, submission, event, known)
    operations = [*await count_submission(source), *await _keep_files(request)]
    operations += map(expect_skill, skills)
    operations += write_new_submission(submission, event, group=by.group)
    result = SubmitResult(kind=SubmitKind.CREATED, submission=submission)
    return PlannedChange(operations=operations, result=result)


async def _create_blocked(
    request: SubmissionRequest, submission: Submission, event: StateEvent, known: Stored[Block]
) -> PlannedChange[SubmitResult]:
    """Record the attempt without queueing it; an unblock reopens it."""
    opened = Stored(submission, ABSENT)
    blocked, operations = await block_submission(opened, known.record, actor=submission.submitter)
    beginning = [*await _keep_files(request), *write_beginning(submission, event)]
    result = SubmitResult(kind=SubmitKind.BLOCKED, submission=blocked, reason=blocked.reason)
    return PlannedChange(operations=[expect_block(known), *beginning, *operations], result=result)


async def _answer(
    existing: Stored[Submission], request: SubmissionRequest, by: Submitter
) -> PlannedChange[SubmitResult]:
    """Return the result for a source that has a submission, or restart that submission."""
    submission = existing.record
    if submission.state is SubmissionState.BLOCKED:
        return _unchanged(SubmitKind.BLOCKED, submission, reason=submission.reason)
    if known := await find_block(request.source, name=submission.skill_name):
        why = why_blocked(known.record)
        return _unchanged(SubmitKind.BLOCKED, submission, reason=why)
    is_hidden = request.is_private and not submission.is_private
    if submission.state in IN_PROGRESS_STATES and not (
        is_hidden or _has_other_files(submission, request)
    ):
        return _unchanged(SubmitKind.PENDING, submission)
    # A change of the visibility is not a repetition: the last commit of the check makes it private.
    answer = None if is_hidden else _ANSWERS.get(submission.state)
    if answer and not await _is_deleted(submission) and await is_unchanged(submission, request):
        return _unchanged(answer, submission)
    return await _reopen(existing, request, by)


async def _is_deleted(submission: Submission) -> bool:
    """Return whether the version that it published was deleted since."""
    if submission.state is not SubmissionState.PUBLISHED or submission.slug is None:
        return False
    _, stored = await find_skill(submission.slug)
    if stored is None:
        return True
    is_latest = stored.record.digest == submission.digest
    deleted = {mark.digest for mark in stored.record.deleted}
    return not is_latest and submission.digest in deleted


def _unchanged(
    kind: SubmitKind, submission: Submission, *, reason: str = ""
) -> PlannedChange[SubmitResult]:
    return PlannedChange(result=SubmitResult(kind=kind, submission=submission, reason=reason))


async def _reopen(
    existing: Stored[Submission], request: SubmissionRequest, by: Submitter
) -> PlannedChange[SubmitResult]:
    await check_free_space()
    cause = Cause(trigger="submit", actor=by.name, reason="submitted again")
    reopened, event = reopen(existing.record, cause, now=get_now())
    reopened = msgspec.structs.replace(
        reopened,
        source=request.source,
        set_id=request.set_id or reopened.set_id,
        # Submitting it again may make it private, but never public.
        is_private=request.is_private or reopened.is_private,
        may_replace_ref=by.may_replace_ref,
        requested_version=request.version,
    )
    operations = [
        *await count_submission(request.source),
        *await _keep_files(request),
        *write_submission(reopened, [event], expected=existing.revision),
        queue_submission(reopened, group=by.group or by.name),
    ]
    result = SubmitResult(kind=SubmitKind.REQUEUED, submission=reopened)
    return PlannedChange(operations=operations, result=result)


def _has_other_files(submission: Submission, request: SubmissionRequest) -> bool:
    """Return whether it has other files than the submission: then processing restarts.

    A worker that is processing it finds the record changed and drops its result.
    """
    if request.source.kind is SourceKind.MIRROR:
        return request.source.ref != submission.source.ref
    return (
        request.source.kind is SourceKind.UPLOAD
        and request.source.upload_sha256 != submission.source.upload_sha256
    )


async def _keep_files(request: SubmissionRequest) -> list[Operation]:
    if request.files is None:
        return []
    return write_upload(request.source.upload_sha256, await request.files.get(), now=get_now())
