"""All data about a submission, the actions that a visitor may take, and these actions.

The pages and the API share this.
"""

import asyncio
from datetime import datetime
from typing import Any

import msgspec

from vskill_platform.access.namespaces import check_may_act_in, check_may_publish_ref, may_act_in
from vskill_platform.access.visibility import can_see_submission, find_visible_submission
from vskill_platform.catalogue.query import SubmissionRow
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.errors import NotAllowed
from vskill_platform.intake.requeue import RETRYABLE_STATES, retry
from vskill_platform.intake.withdraw import withdraw
from vskill_platform.model.failure import NO_SCANNER
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.source import Source, SourceKind
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    TERMINAL_STATES,
    StateEvent,
    Submission,
    SubmissionState,
)
from vskill_platform.model.verdict import Report
from vskill_platform.scan.reports.source_lines import without_secrets
from vskill_platform.stores.db import get_queue, get_settings
from vskill_platform.stores.external_scan_store import ExternalScan, get_external_scans
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_set_store import get_submission_set
from vskill_platform.stores.submission_store import get_history, read_submissions

_S = SubmissionState
_SIBLINGS_AT_ONCE = 20
#: Triggers whose actor is a user, and triggers whose actor is a part of the platform.
_BY_PEOPLE = frozenset(
    {
        "submit", "withdraw", "requeue", "revive", "review", "unblock", "rescan",
        "delete", "transfer",
    }
)  # fmt: skip
_BY_PARTS = frozenset({"recover", "external-scan"})
#: Shown to the public instead of the node name, which may contain a host name.
_WORKER = "worker"
#: What the submitter should know and do.
_NEXT_STEPS: dict[SubmissionState, str] = {
    _S.RECEIVED: "It is in the queue. You can close this page and come back later.",
    _S.TIER1_SCANNING: "It is being scanned, which takes seconds.",
    _S.TIER2_SCANNING: "The LLM judge or third-party scanners are checking it.",
    _S.NEEDS_REVIEW: "A reviewer has to decide. You do not have to do anything.",
    _S.AUTO_APPROVED: "It was approved and is about to be published.",
    _S.VENDOR_APPROVED: "It was approved and is about to be published.",
    _S.PUBLISHED: "It is published. Submit it again when there is a new version.",
    _S.TIER1_FAILED: "Fix the findings below and retry. The same submission continues.",
    _S.REJECTED: "See the reason below. Fix it, then retry.",
    _S.BLOCKED: "It is on the blocklist. Only an operator of this registry can unblock it.",
    _S.DEQUEUED: "It was withdrawn. You can retry at any time.",
}

#: Uploaded files do not change, so a retry checks the same files.
_UPLOAD_STEPS: dict[SubmissionState, str] = {
    _S.TIER1_FAILED: "Fix the findings below and upload the files again. The same submission "
    "continues. Retrying without a new upload checks the same files.",
    _S.REJECTED: "See the reason below. If it is in the files, fix them and upload them again. "
    "Retrying without a new upload checks the same files.",
}
#: Being processed, without a report yet.
_NOT_CHECKED_YET = frozenset({_S.RECEIVED, _S.TIER1_SCANNING})


class SubmissionView(msgspec.Struct, frozen=True, kw_only=True):
    submission: Submission
    history: list[StateEvent]
    report: Report | None
    external: list[ExternalScan]
    #: The position in the queue: 1 is next, None if it is not queued, MAX_POSITION + 1 if it is
    #: beyond the counted positions.
    position: int | None
    #: When the paused queue resumes; None if it is not queued or not paused.
    paused_until: datetime | None
    next_step: str
    may_retry: bool
    may_withdraw: bool
    #: Whether other skills were submitted together with it.
    has_siblings: bool

    @property
    def has_ended(self) -> bool:
        return self.submission.state in TERMINAL_STATES

    @property
    def is_far_behind(self) -> bool:
        """Return whether its position is beyond the counted ones."""
        return (self.position or 0) > MAX_POSITION

    @property
    def moves_soon(self) -> bool:
        """Return whether it changes within seconds: no pending review, pause or scanner."""
        is_in_progress = self.submission.state in IN_PROGRESS_STATES
        return is_in_progress and not self.submission.waiting and self.paused_until is None

    @property
    def is_report_of_before(self) -> bool:
        """Return whether the report is of the previous check."""
        return self.report is not None and self.submission.state in _NOT_CHECKED_YET

    @property
    def was_checked(self) -> bool:
        return self.report is not None and self.report.scanner != NO_SCANNER

    @property
    def is_upload(self) -> bool:
        return self.submission.source.kind is SourceKind.UPLOAD


async def view_submission(visitor: Visitor, submission: Submission) -> SubmissionView:
    """Return all data about a submission, and the actions that this visitor may take."""
    waits = submission.state is SubmissionState.RECEIVED
    may_act = visitor.may(Right.SUBMIT, get_settings()) and await may_act_in(
        visitor, namespace_of(submission.source)
    )
    return SubmissionView(
        submission=submission,
        history=_shown_history(visitor, await get_history(submission.id)),
        report=await _shown_report(submission.id),
        external=await get_external_scans(submission.id),
        position=await get_queue().position(submission.id) if waits else None,
        paused_until=(await get_queue().stats()).paused_until if waits else None,
        next_step=_next_step(submission),
        may_retry=may_act
        and submission.state in RETRYABLE_STATES
        and await _may_publish_ref(visitor, submission.source),
        may_withdraw=submission.state not in TERMINAL_STATES
        and await _is_theirs(visitor, submission),
        has_siblings=await _has_siblings(visitor, submission),
    )


async def _may_publish_ref(visitor: Visitor, source: Source) -> bool:
    try:
        await check_may_publish_ref(visitor, source)
    except NotAllowed:
        return False
    return True


def _next_step(submission: Submission) -> str:
    is_upload = submission.source.kind is SourceKind.UPLOAD
    usual = _NEXT_STEPS[submission.state]
    return _UPLOAD_STEPS.get(submission.state, usual) if is_upload else usual


async def _has_siblings(visitor: Visitor, submission: Submission) -> bool:
    """Return whether other submissions of its set are visible to this visitor."""
    together = await get_submission_set(submission.set_id) if submission.set_id else None
    ids = [one for one in together.submission_ids if one != submission.id] if together else []
    for start in range(0, len(ids), _SIBLINGS_AT_ONCE):
        some = await read_submissions(ids[start : start + _SIBLINGS_AT_ONCE])
        for sibling in some.values():
            if await can_see_submission(visitor, sibling):
                return True
    return False


def _shown_history(visitor: Visitor, history: list[StateEvent]) -> list[StateEvent]:
    """Return the history; node names are for operators only."""
    if visitor.may(Right.OPERATE, get_settings()):
        return history
    before: StateEvent | None = None
    shown = []
    for event in history:
        is_known = _is_by_a_person(event, before) or event.trigger in _BY_PARTS
        shown.append(event if is_known else msgspec.structs.replace(event, actor=_WORKER))
        before = event
    return shown


def _is_by_a_person(event: StateEvent, before: StateEvent | None) -> bool:
    """Return whether the actor of an event is a user."""
    if event.trigger == "retry":  # workers retry submissions in progress
        return event.from_state in TERMINAL_STATES
    if event.trigger == "publish":  # after a review or a check
        return before is not None and before.trigger == "review"
    return event.trigger in _BY_PEOPLE


async def _shown_report(submission_id: str) -> Report | None:
    """Return the report without secrets."""
    report = await get_report(submission_id)
    if report is None:
        return None
    findings = tuple(map(without_secrets, report.findings))
    return msgspec.structs.replace(report, findings=findings)


async def retry_submission(visitor: Visitor, submission_id: str) -> Submission:
    """Retry a submission; allowed to anyone who may submit its source."""
    submission = (await find_visible_submission(visitor, submission_id)).record
    await check_may_act_in(visitor, namespace_of(submission.source))
    may_replace_ref = await check_may_publish_ref(visitor, submission.source)
    return await retry(submission_id, actor=visitor.name, may_replace_ref=may_replace_ref)


async def withdraw_submission(visitor: Visitor, submission_id: str, *, reason: str) -> Submission:
    submission = (await find_visible_submission(visitor, submission_id)).record
    if not await _is_theirs(visitor, submission):
        raise NotAllowed("only the submitter or an operator can withdraw it")
    return await withdraw(submission_id, actor=visitor.name, reason=reason)


async def _is_theirs(visitor: Visitor, submission: Submission) -> bool:
    """Return whether a visitor may withdraw a submission: operators, owners and the submitter.

    If the namespace has owners, only operators and owners may. An anonymous submitter cannot be
    verified.
    """
    settings = get_settings()
    if visitor.may(Right.OPERATE, settings):
        return True
    if visitor.user is None or not visitor.may(Right.SUBMIT, settings):
        return False
    namespace = (await get_namespace(namespace_of(submission.source))).record
    if namespace.is_owned:
        return visitor.may_act_in(namespace, settings)
    is_own = visitor.user.name == submission.submitter
    return is_own and visitor.may_act_in(namespace, settings)


async def of_set(set_id: str) -> dict[str, Any]:
    """Return the filter for a set: its members, including those submitted before."""
    found = await get_submission_set(set_id) if set_id else None
    ids = found.submission_ids if found else ()
    return {"ids": ids} if ids else {"set_id": set_id}


async def positions_of(rows: list[SubmissionRow]) -> dict[str, int]:
    """Return the queue positions of the queued rows; see MAX_POSITION."""
    waiting = [row.id for row in rows if row.state is SubmissionState.RECEIVED]
    places = await asyncio.gather(*map(get_queue().position, waiting))
    return {row_id: place for row_id, place in zip(waiting, places, strict=True) if place}
