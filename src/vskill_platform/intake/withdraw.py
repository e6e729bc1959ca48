"""Withdraw a submission in progress, by its submitter or an operator."""

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, InvalidTransition, NotFound, Overtaken
from vskill_platform.model.failure import NO_SCANNER, WITHDRAWN
from vskill_platform.model.submission import (
    TERMINAL_STATES,
    Cause,
    Submission,
    SubmissionState,
    move,
)
from vskill_platform.model.verdict import Finding, FindingKind, Report, Severity, Verdict
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.held_store import release_held
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import get_report, write_report
from vskill_platform.stores.submission_store import get_submission, write_submission


async def withdraw(submission_id: str, *, actor: str, reason: str) -> Submission:
    """End it without a verdict; a worker that holds it drops its result.

    Its message may still be queued; the worker that receives it has nothing to do.
    """
    if not reason.strip():
        raise InvalidInput("give a reason for the withdrawal")
    stored = await get_submission(submission_id)
    if stored is None:
        raise NotFound(f"there is no submission {submission_id!r}")
    if stored.record.state in TERMINAL_STATES:
        raise InvalidTransition(
            f"it is finished ({stored.record.state}), so it cannot be withdrawn"
        )
    cause = Cause(trigger="withdraw", actor=actor, reason=reason)
    withdrawn, event = move(stored.record, SubmissionState.DEQUEUED, cause, now=get_now())
    operations: list[Operation] = [
        *write_submission(withdrawn, [event], expected=stored.revision),
        write_report(await _report(stored, cause)),
        *await release_held(submission_id, keeps_upload=True),
        write_audit("withdraw", submission_id, actor=actor, reason=reason),
    ]
    if await commit(operations) is None:
        raise Overtaken("its state has just changed; check it again before you withdraw it")
    return withdrawn


async def _report(stored: Stored[Submission], cause: Cause) -> Report:
    """Keep the findings so far, and add the reason."""
    finding = Finding(
        rule=WITHDRAWN,
        severity=Severity.INFO,
        kind=FindingKind.UNVERIFIED,
        message=f"It was withdrawn by {cause.actor}: {cause.reason}",
        fix="You can submit it again at any time.",
    )
    known = await get_report(stored.record.id)
    if known is None:
        return Report(
            submission_id=stored.record.id,
            verdict=Verdict.REVIEW,
            findings=(finding,),
            digest=stored.record.digest,
            scanner=NO_SCANNER,
            checked_at=get_now(),
            duration_seconds=0,
        )
    others = tuple(item for item in known.findings if item.rule != WITHDRAWN)
    return msgspec.structs.replace(known, findings=(finding, *others))
