"""End a submission that is blocked, withdrawn or not verified, with the reason as a finding."""

from datetime import datetime

import msgspec

from vskill_platform.engines.operations import Operation
from vskill_platform.model.block import Block
from vskill_platform.model.failure import BLOCKED, NO_SCANNER, WITHDRAWN
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.model.verdict import Finding, FindingKind, Report, Severity, Verdict
from vskill_platform.stores.block_store import expect_block, find_block, write_hit
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.held_store import release_held
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import get_report, write_report
from vskill_platform.stores.submission_store import write_submission


def why_blocked(block: Block) -> str:
    """Return the public, one-sentence reason why a skill is blocked."""
    return f"blocked ({block.subject.in_public_words()}): {block.reason}"


async def end_if_blocked(
    stored: Stored[Submission], *, report: Report | None = None
) -> tuple[Submission, list[Operation]] | None:
    """Return the operations that end a blocked submission; None if it is not blocked.

    Without a report, the content has not been read yet, so only the source is checked.
    """
    submission = stored.record
    known = await find_block(
        submission.source,
        name=submission.skill_name if report else None,
        digest=submission.digest if report else None,
    )
    if known is None:
        return None
    actor = get_settings().node
    blocked, operations = await block_submission(stored, known.record, actor=actor, report=report)
    return blocked, [expect_block(known), *operations]


async def block_submission(
    stored: Stored[Submission], block: Block, *, actor: str, report: Report | None = None
) -> tuple[Submission, list[Operation]]:
    """Move it to BLOCKED with a new *report*, or else with its last one.

    Verdict and score are kept, because a block is not a scan result.
    """
    now = get_now()
    cause = Cause(trigger="block", actor=actor, reason=why_blocked(block))
    blocked, event = move(stored.record, SubmissionState.BLOCKED, cause, now=now)
    known = report or await get_report(blocked.id) or _no_report(blocked, now)
    others = tuple(item for item in known.findings if item.rule != BLOCKED)
    findings = (_finding(block), *others)
    return blocked, [
        *write_submission(blocked, [event], expected=stored.revision),
        write_report(msgspec.structs.replace(known, findings=findings)),
        write_hit(block.subject, blocked.id),
    ]


def _finding(block: Block) -> Finding:
    return Finding(
        rule=BLOCKED,
        severity=Severity.CRITICAL,
        kind=FindingKind.UNVERIFIED,
        message=f"It is {why_blocked(block)}.",
        fix="Ask the operator of this registry to remove it from the blocklist.",
    )


def _no_report(submission: Submission, now: datetime) -> Report:
    return Report(
        submission_id=submission.id,
        verdict=Verdict.BLOCK,
        findings=(),
        digest=submission.digest,
        scanner=NO_SCANNER,
        checked_at=now,
        duration_seconds=0,
    )


def unverified(*, rule: str, message: str, fix: str) -> Finding:
    return Finding(
        rule=rule, severity=Severity.HIGH, message=message, fix=fix, kind=FindingKind.UNVERIFIED
    )


def reject_submission(
    stored: Stored[Submission], cause: Cause, finding: Finding
) -> list[Operation]:
    """Move it to REJECTED, always with a finding that says why."""
    now = get_now()
    rejected, event = move(stored.record, SubmissionState.REJECTED, cause, now=now)
    report = Report(
        submission_id=rejected.id,
        verdict=Verdict.BLOCK,
        findings=(finding,),
        digest=rejected.digest,
        scanner=NO_SCANNER,
        checked_at=now,
        duration_seconds=0,
    )
    return [*write_submission(rejected, [event], expected=stored.revision), write_report(report)]


async def withdraw_deleted(
    stored: Stored[Submission], why: str, *, actor: str
) -> tuple[Submission, list[Operation]]:
    """Withdraw an undecided submission, because its skill or namespace was deleted.

    Its files and findings are also deleted, because findings quote the files.
    """
    fix = "Submit it again if you still want to publish it, or ask an admin."
    cause = Cause(trigger="delete", actor=actor, reason=f"withdrawn: {why}")
    withdrawn, operations = _withdraw(stored, cause, why=why, fix=fix)
    return withdrawn, [*operations, *await release_held(withdrawn.id)]


async def withdraw_moved(stored: Stored[Submission], why: str, *, actor: str) -> list[Operation]:
    """Withdraw an undecided submission, because its source no longer publishes the skill."""
    fix = "Ask the new owners to publish it, or submit it under another name."
    cause = Cause(trigger="transfer", actor=actor, reason=f"withdrawn: {why}")
    withdrawn, operations = _withdraw(stored, cause, why=why, fix=fix)
    return [*operations, *await release_held(withdrawn.id, keeps_upload=True)]


def _withdraw(
    stored: Stored[Submission], cause: Cause, *, why: str, fix: str
) -> tuple[Submission, list[Operation]]:
    withdrawn, event = move(stored.record, SubmissionState.DEQUEUED, cause, now=get_now())
    finding = Finding(
        rule=WITHDRAWN,
        severity=Severity.INFO,
        kind=FindingKind.UNVERIFIED,
        message=f"It was withdrawn: {why}",
        fix=fix,
    )
    report = msgspec.structs.replace(
        _no_report(withdrawn, get_now()), verdict=Verdict.REVIEW, findings=(finding,)
    )
    return withdrawn, [
        *write_submission(withdrawn, [event], expected=stored.revision),
        write_report(report),
    ]
