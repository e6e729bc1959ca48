"""Decisions of a reviewer: approve, reject or recheck a submission that needs review."""

from collections.abc import Awaitable, Callable

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import (
    ChangedSinceSeen,
    InvalidInput,
    InvalidTransition,
    NamespaceDeleted,
    NotAllowed,
    NotFound,
    SlugTaken,
)
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.decision import Outcome, namespaces_of
from vskill_platform.model.failure import REVIEWED
from vskill_platform.model.record import Reasoned
from vskill_platform.model.skill import SkillManifest
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move, reopen
from vskill_platform.model.verdict import Finding, FindingKind, Report, Severity
from vskill_platform.publish.moderation.hold_skill import opened_held_skill
from vskill_platform.publish.versions.check_version import check_version
from vskill_platform.publish.versions.choose_slug import expect_publishable
from vskill_platform.publish.versions.publish_skill import (
    prepare_publication,
    publish,
)
from vskill_platform.scan.scan_skill import ScanResult
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.block_store import find_block
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.held_store import release_held
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import get_report, write_report
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import get_history, get_submission, write_submission


class ReviewDecision(Reasoned, msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer's decision."""

    submission_id: str
    reviewer: str
    reason: str
    #: The digest of the reviewed content, "" if there was no content. None means that no digest was
    #: given, which only recheck allows.
    seen: str | None = None


ReviewAction = Callable[[ReviewDecision], Awaitable[Submission]]


async def approve(decision: ReviewDecision) -> Submission:
    """Publish exactly the checked files, without fetching the source again.

    They are checked once more, because rules, policy and blocklist may have changed: content that
    would be rejected now is refused.
    """
    stored = await _seen(decision)
    submission = stored.record
    await _check_reviewer(submission, decision.reviewer)
    async with opened_held_skill(submission) as snapshot:
        scanned, manifest, report = await _check_again(submission, snapshot)
        publication = await prepare_publication(
            submission, snapshot, manifest, sketch=scanned.measured(), now=get_now()
        )
    decided = f"approved by {decision.reviewer}: {decision.reason}"
    report = msgspec.structs.replace(report, decided=decided)
    cause = _cause(decision, f"{publication.in_words()}; {decided}")
    published, operations = publish(
        stored, publication, report, [(SubmissionState.PUBLISHED, cause)]
    )
    operations += await release_held(submission.id)
    operations.append(_audit("reviews approve", decision, outcome=publication.in_words()))
    return await _commit(published, operations)


async def reject(decision: ReviewDecision) -> Submission:
    """Reject it, with the reviewer's reason beside the findings; the files are removed later."""
    stored = await _seen(decision)
    rejected, event = move(
        stored.record, SubmissionState.REJECTED, _cause(decision, decision.reason), now=get_now()
    )
    operations = write_submission(rejected, [event], expected=stored.revision)
    report = await get_report(rejected.id)
    if report:
        decided = f"rejected by {decision.reviewer}: {decision.reason}"
        findings = (_objection(decision), *report.findings)
        operations.append(
            write_report(msgspec.structs.replace(report, findings=findings, decided=decided))
        )
    operations.append(_audit("reviews reject", decision, outcome="rejected"))
    return await _commit(rejected, operations)


async def recheck(decision: ReviewDecision) -> Submission:
    """Run the whole pipeline again with the current content of the source."""
    stored = await _waiting(decision)
    again, event = reopen(stored.record, _cause(decision, decision.reason), now=get_now())
    operations = write_submission(again, [event], expected=stored.revision)
    operations += [
        queue_submission(again),
        _audit("reviews recheck", decision, outcome="requeued"),
    ]
    return await _commit(again, operations)


async def _waiting(decision: ReviewDecision) -> Stored[Submission]:
    if not decision.reason.strip():
        raise InvalidInput("a decision needs a reason; give it with --reason")
    stored = await get_submission(decision.submission_id)
    if stored is None:
        raise NotFound(
            f"there is no submission {decision.submission_id!r}; run `reviews` to list them"
        )
    if stored.record.state is not SubmissionState.NEEDS_REVIEW:
        raise decided_already(stored.record)
    return stored


async def _seen(decision: ReviewDecision) -> Stored[Submission]:
    """Return the submission; raise if it has changed since the reviewer looked at it.

    While it waits, its submitter may upload other files, which are checked and wait in turn.
    """
    stored = await _waiting(decision)
    if decision.seen is None:
        raise InvalidInput("a decision must name the digest of the content that was reviewed")
    if decision.seen != (stored.record.digest or ""):
        raise ChangedSinceSeen(
            f"the content of {decision.submission_id} has changed since you viewed it. "
            "No decision was made; review it again"
        )
    return stored


async def why_not_approve(submission: Submission, reviewer: str) -> str:
    """Return why this reviewer cannot approve it, as far as known beforehand; "" otherwise."""
    if why := await _why_not_this_reviewer(submission, reviewer):
        return why
    try:
        await expect_publishable(submission)
    except (NamespaceDeleted, SlugTaken) as error:
        return str(error)
    found = await find_block(
        submission.source, name=submission.skill_name, digest=submission.digest
    )
    return why_blocked(found.record) if found else ""


async def _check_reviewer(submission: Submission, reviewer: str) -> None:
    if why := await _why_not_this_reviewer(submission, reviewer):
        raise NotAllowed(why)


async def _why_not_this_reviewer(submission: Submission, reviewer: str) -> str:
    """Refuse approval of one's own submission unless the policy allows it."""
    if bound_env().policy.within(namespaces_of(submission.source)).review.own:
        return ""
    history = await get_history(submission.id)
    again = {event.actor for event in history if event.trigger == "submit"}
    if reviewer not in {submission.submitter, *again}:
        return ""
    return (
        f"the submission is by {reviewer}, so another reviewer must approve it; to allow this, "
        "set `own = true` under `[review]` in the policy"
    )


async def _check_again(
    submission: Submission, snapshot: Snapshot
) -> tuple[ScanResult, SkillManifest, Report]:
    """Check the kept files with the current rules, policy and blocklist."""
    checked = await check_version(submission, snapshot)
    if checked.decision.outcome is Outcome.REJECT or checked.scanned is None:
        raise await _refused(submission, checked.decision.clause)
    manifest = checked.scanned.manifest
    if manifest is None:
        raise await _refused(submission, "its manifest is not valid")
    if block := await find_block(submission.source, name=manifest.name, digest=snapshot.digest):
        raise await _refused(submission, why_blocked(block.record))
    return checked.scanned, manifest, checked.report


async def _commit(submission: Submission, operations: list[Operation]) -> Submission:
    """Commit all or nothing; a slower reviewer is told the decision of the faster one."""
    if await commit(operations) is not None:
        return submission
    stored = await get_submission(submission.id)
    if stored and stored.record.state is not SubmissionState.NEEDS_REVIEW:
        raise decided_already(stored.record)
    raise InvalidTransition(
        "something it depends on has just changed, and no decision was made; try again"
    )


def decided_already(submission: Submission) -> InvalidTransition:
    return InvalidTransition(
        f"{submission.id} does not need review: it is {submission.state} "
        f"since {submission.updated_at:%Y-%m-%d %H:%M} UTC ({submission.reason})"
    )


async def _refused(submission: Submission, why: str) -> NotAllowed | InvalidTransition:
    """Return the reason for the refusal, such as the decision of a faster reviewer."""
    stored = await get_submission(submission.id)
    if stored and stored.record.state is not SubmissionState.NEEDS_REVIEW:
        return decided_already(stored.record)
    return NotAllowed(
        f"the current rules reject it: {why}. To run the checks again: "
        f"vskill-platform reviews recheck {submission.id}"
    )


def _objection(decision: ReviewDecision) -> Finding:
    return Finding(
        rule=REVIEWED,
        severity=Severity.HIGH,
        kind=FindingKind.QUALITY,
        message=f"A reviewer rejected it: {decision.reason}",
        fix="Change what the reviewer asks for, then submit it again.",
    )


def _cause(decision: ReviewDecision, reason: str) -> Cause:
    return Cause(trigger="review", actor=decision.reviewer, reason=reason)


def _audit(action: str, decision: ReviewDecision, *, outcome: str) -> Operation:
    return write_audit(
        action,
        decision.submission_id,
        actor=decision.reviewer,
        reason=decision.reason,
        outcome=outcome,
    )
