"""Convert submission records to the JSON of the API."""

from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec

from vskill_platform.catalogue.query import SubmissionRow
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.errors import SourceRefused
from vskill_platform.intake.submit import SubmitKind, SubmitResult
from vskill_platform.intake.submit_set import SubmittedSet
from vskill_platform.model.failure import BLOCKED, failure_title, failures_in, score_in
from vskill_platform.model.source import public_source
from vskill_platform.model.submission import TERMINAL_STATES, StateEvent, SubmissionState
from vskill_platform.model.verdict import Finding, Report
from vskill_platform.scan.reports.source_lines import without_secrets
from vskill_platform.web.submissions.shapes import (
    BlockInfo,
    EventItem,
    FailureItem,
    RefusedSkill,
    ScanItem,
    SubmissionDetail,
    SubmissionItem,
    SubmissionResponse,
    SubmissionsResponse,
)
from vskill_platform.web.submissions.submission_view import SubmissionView

#: Durations that existing clients read, and the states whose durations they sum.
_SPANS = {"msInScanning": ("Tier1Scanning", "Tier2Scanning")}


def submit_response(result: SubmitResult) -> SubmissionResponse:
    submission = result.submission
    return SubmissionResponse(
        id=submission.id,
        submission_id=submission.id,
        state=submission.state,
        created_at=submission.created_at,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        position=result.position,
        position_is_minimum=(result.position or 0) > MAX_POSITION,
        duplicate=result.kind is SubmitKind.PENDING,
        already_verified=result.kind is SubmitKind.ALREADY_VERIFIED,
        requeued=result.kind is SubmitKind.REQUEUED,
        blocked=result.kind is SubmitKind.BLOCKED,
        reason=result.reason,
        skill_id=submission.slug,
    )


def set_response(done: SubmittedSet, repo_url: str) -> SubmissionsResponse:
    """Return the submitted and the refused skills; raise if none was submitted."""
    taken = [submit_response(member.result) for member in done.members if member.result]
    skipped = [
        RefusedSkill(path=member.skill.path, error=member.error)
        for member in done.members
        if member.result is None
    ]
    if not taken:
        raise SourceRefused("; ".join(item.error for item in skipped[:3]) or "no skill found")
    return SubmissionsResponse(
        submissions=taken,
        count=len(taken),
        skipped=skipped,
        repo_url=repo_url,
        set_id=done.set_id,
    )


def submission_item(row: SubmissionRow) -> SubmissionItem:
    return SubmissionItem(
        id=row.id,
        skill_name=row.skill_name,
        skill_path=row.path,
        repo_url=public_source(row.repo_url),
        state=row.state,
        reason=row.reason,
        score=row.score,
        submitter=row.submitter,
        is_private=row.is_private,
        created_at=row.created_at,
        updated_at=row.updated_at,
        published_skill_name=row.slug,
        set_id=row.set_id,
    )


def submission_detail(view: SubmissionView) -> SubmissionDetail:
    submission = view.submission
    is_blocked = submission.state is SubmissionState.BLOCKED
    return SubmissionDetail(
        id=submission.id,
        state=submission.state,
        reason=submission.reason,
        repo_url=public_source(submission.repo_url),
        ref=submission.source.ref,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        submitter=submission.submitter,
        is_private=submission.is_private,
        created_at=submission.created_at,
        updated_at=submission.updated_at,
        published_skill_name=submission.slug,
        set_id=submission.set_id,
        position=view.position,
        position_is_minimum=view.is_far_behind,
        next_step=view.next_step,
        may_retry=view.may_retry,
        may_withdraw=view.may_withdraw,
        attempts=submission.attempts,
        scan_result=scan_item(view.report) if view.report else None,
        block_info=BlockInfo(reason=submission.reason, blocked_at=submission.updated_at)
        if is_blocked
        else None,
        state_history=[item for event in view.history for item in _events(event)],
        stage_timings=stage_timings(view.history),
        timings=submission.timings,
    )


def scan_item(report: Report) -> ScanItem:
    """Return a report without secrets."""
    return ScanItem(
        verdict=report.verdict,
        score=score_in(report),
        failures=tuple(map(_failure, failures_in(report.findings))),
        findings=tuple(without_secrets(item) for item in report.findings if item.rule != BLOCKED),
        scanner=report.scanner,
        ruleset=report.ruleset,
        checked_at=report.checked_at,
        decided=report.decided,
        capabilities=report.capabilities,
        digest=report.digest,
    )


def _failure(finding: Finding) -> FailureItem:
    return FailureItem(
        code=finding.rule,
        title=failure_title(finding),
        message=finding.message,
        fix=finding.fix,
        file=finding.file,
        line=finding.line,
    )


def stage_timings(history: list[StateEvent]) -> dict[str, Any]:
    """Return the time of each state change, and the durations of the current run; never negative.

    Time in a final state before a retry does not count.
    """
    timings: dict[str, Any] = {}
    for event in history:
        timings[f"{_camel(event.to_state)}At"] = event.at
        if event.to_state is SubmissionState.TIER1_FAILED:
            timings["rejectedAt"] = event.at  # existing clients do not distinguish these
    run = _last_run(history)
    spent: dict[str, float] = {}
    for event, following in pairwise(run):
        name = _camel(event.to_state)
        state = name[:1].upper() + name[1:]
        spent[state] = spent.get(state, 0) + _milliseconds(event.at, following.at)
    timings |= {f"msIn{state}": round(value) for state, value in spent.items()}
    for span, states in _SPANS.items():
        if parts := [spent[state] for state in states if state in spent]:
            timings[span] = round(sum(parts))
    if run:
        timings["totalMs"] = round(_milliseconds(run[0].at, run[-1].at))
    return timings


def _last_run(history: list[StateEvent]) -> list[StateEvent]:
    """Return the events of the last run: from its start to its final state."""
    ends = [event.to_state in TERMINAL_STATES for event in history]
    begins = [
        place for place, is_end in enumerate(ends) if not is_end and (place == 0 or ends[place - 1])
    ]
    start = begins[-1] if begins else 0
    end = next((place for place in range(start, len(ends)) if ends[place]), len(ends))
    return history[start : end + 1]


def _events(event: StateEvent) -> list[EventItem]:
    """Return a history event in the form of the API: a reviewer's approval becomes two steps.

    An approval is recorded as one event from NEEDS_REVIEW to PUBLISHED. Clients expect a separate
    step, AUTO_APPROVED, so they get one; `approvedBy` names the reviewer.
    """
    item = EventItem(
        from_state=event.from_state,
        to_state=event.to_state,
        trigger=event.trigger,
        actor=event.actor,
        reason=event.reason,
        at=event.at,
        approved_by=event.approved_by,
    )
    if not event.approved_by or event.to_state is not SubmissionState.PUBLISHED:
        return [item]
    approved = msgspec.structs.replace(item, to_state=SubmissionState.AUTO_APPROVED)
    published = msgspec.structs.replace(
        item, from_state=SubmissionState.AUTO_APPROVED, trigger="publish", approved_by=None
    )
    return [approved, published]


def _milliseconds(start: datetime, end: datetime) -> float:
    return max(0.0, (end - start).total_seconds() * 1000)


def _camel(state: str) -> str:
    first, *others = state.lower().split("_")
    return first + "".join(word.capitalize() for word in others)
