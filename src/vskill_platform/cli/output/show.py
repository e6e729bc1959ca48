"""Print submissions and findings on a terminal."""

from datetime import datetime, timedelta

from rich.table import Table

from vskill_platform.cli.local_or_remote import EXIT_NOT_DONE
from vskill_platform.cli.output.terminal import Console, escape
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.errors import NotFound
from vskill_platform.intake.submit import SubmitKind, SubmitResult
from vskill_platform.model.failure import failure_title, failures_in, results_in
from vskill_platform.model.judgement import Judgement
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    StateEvent,
    Submission,
    SubmissionState,
)
from vskill_platform.model.verdict import BLOCKING, Finding, FindingKind, Report
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.follow_submissions import follow_submission

_BAD = frozenset(
    {
        SubmissionState.TIER1_FAILED,
        SubmissionState.REJECTED,
        SubmissionState.BLOCKED,
        SubmissionState.DEQUEUED,
    }
)
_KINDS = {
    SubmitKind.CREATED: "Submitted",
    SubmitKind.PENDING: "Already in progress",
    SubmitKind.ALREADY_VERIFIED: "Already verified, nothing has changed",
    SubmitKind.REQUEUED: "Submitted again",
    SubmitKind.BLOCKED: "Blocked",
}


def no_submission(submission_id: str) -> NotFound:
    return NotFound(f"there is no submission {submission_id!r}; `submissions` shows the newest")


async def show_progress(submission_id: str, *, quiet: bool) -> Submission:
    """Follow a submission until it is finished, and print each state."""
    console = Console(stderr=True, quiet=quiet)
    last: Submission | None = None
    with console.status("waiting") as spinner:
        async for submission in follow_submission(submission_id):
            if last is None or submission.state is not last.state:
                console.print(f"{state_mark(submission.state)} {escape(submission.reason)}")
                spinner.update(submission.state.lower())
            last = submission
    if last is None:
        raise no_submission(submission_id)
    return last


def state_mark(state: SubmissionState) -> str:
    colour = "green" if state is SubmissionState.PUBLISHED else "red" if state in _BAD else "yellow"
    return f"[{colour}]{state}[/]"


def exit_code(state: SubmissionState) -> int:
    """Return 0 if it is published, 3 if it needs review or is in progress, otherwise 1."""
    if state is SubmissionState.PUBLISHED:
        return 0
    return (
        EXIT_NOT_DONE if state is SubmissionState.NEEDS_REVIEW or state in IN_PROGRESS_STATES else 1
    )


def _place_in_queue(position: int | None) -> str:
    if not position:
        return ""
    if position > MAX_POSITION:
        return f", more than {MAX_POSITION:,} are ahead of it in the queue"
    return f", position {position} in the queue"


def show_result(result: SubmitResult, submission: Submission) -> None:
    console = Console()
    place = _place_in_queue(result.position)
    line = f"{_KINDS[result.kind]}: [bold]{submission.id}[/] {state_mark(submission.state)}{place}"
    console.print(line, highlight=False)
    if result.reason:
        console.print(escape(result.reason), highlight=False)
    elif submission.slug:
        console.print(f"Published as {escape(submission.slug)}")
    else:
        console.print(f"Follow it with: vskill-platform status {submission.id} --watch")


def show_end(submission: Submission) -> None:
    """Print the result of a submission that was watched."""
    console = Console()
    mark = state_mark(submission.state)
    is_waiting = submission.state is SubmissionState.NEEDS_REVIEW
    word = "Waiting for review" if is_waiting else "Finished"
    console.print(f"{word}: [bold]{submission.id}[/] {mark}", highlight=False)
    if submission.state is SubmissionState.PUBLISHED and submission.slug:
        console.print(f"Published as {escape(submission.slug)}")
        return
    console.print(escape(submission.reason), highlight=False)
    console.print(f"Findings: vskill-platform status {submission.id}", highlight=False)


def show_submission(
    submission: Submission, history: list[StateEvent], report: Report | None
) -> None:
    console = Console()
    table = Table.grid(padding=(0, 2))
    rows = {
        "id": submission.id,
        "skill": submission.skill_name,
        "source": submission.repo_url,
        "path": submission.skill_path or "(root)",
        "state": state_mark(submission.state),
        "reason": escape(submission.reason),
        "published as": submission.slug or "-",
        "submitted": f"{submission.created_at:%Y-%m-%d %H:%M:%S} UTC by {submission.submitter}",
        "attempts": str(submission.attempts),
    }
    if submission.source.ref:
        rows["branch or tag"] = submission.source.ref
    if submission.set_id:
        rows["set"] = submission.set_id
    for name, value in rows.items():
        table.add_row(f"[dim]{name}[/]", value if name in {"state", "reason"} else escape(value))
    console.print(table)
    show_history(console, history)
    if report and report.judgement:
        console.print(f"[dim]judge[/]  {escape(judge_line(report.judgement))}")
    if report:
        if report.decided:
            under = f" (policy {report.policy})" if report.policy else ""
            console.print(f"[dim]decided[/]  {escape(report.decided)}{under}", highlight=False)
        show_failures(console, failures_in(report.findings))
        show_findings(console, results_in(report.findings))


def show_failures(console: Console, failures: tuple[Finding, ...]) -> None:
    """Print the errors that kept the check from completing, separate from findings."""
    for failure in failures:
        place = ":".join(str(part) for part in (failure.file, failure.line) if part is not None)
        console.print(
            f"[red]failed[/] [bold]{failure_title(failure)}[/] {escape(place)} "
            f"[dim]{failure.rule}[/]\n  {escape(failure.message)}\n"
            f"  [dim]fix:[/] {escape(failure.fix)}"
        )


def judge_line(judgement: Judgement) -> str:
    """Return the judge's opinion and its cost in one line."""
    again = ", cached" if judgement.is_cached else ""
    opinion = f"{judgement.opinion} (confidence {judgement.confidence:.0%}{again})"
    return f"{judgement.model}: {opinion}: {judgement.summary} Cost {judgement.cost:g}."


def show_history(console: Console, history: list[StateEvent]) -> None:
    table = Table("when (UTC)", "from", "to", "by", "reason", title="History", title_justify="left")
    for event in history:
        is_published = event.to_state is SubmissionState.PUBLISHED
        table.add_row(
            f"{event.at:%m-%d %H:%M:%S}",
            event.from_state or "-",
            # Older releases recorded a reviewer's approval as AUTO_APPROVED.
            "approved" if event.approved_by and not is_published else state_mark(event.to_state),
            escape(event.actor),
            escape(event.reason),
        )
    console.print(table)


def show_findings(console: Console, findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        place = ":".join(str(part) for part in (finding.file, finding.line) if part is not None)
        colour = "red" if finding.severity in BLOCKING else "yellow"
        console.print(
            f"[{colour}]{finding.severity}[/] [bold]{escape(place) or '-'}[/] "
            f"{escape(finding.message)} [dim]{finding.rule}[/]\n"
            f"  [dim]fix:[/] {escape(finding.fix)}"
        )
        if finding.kind is FindingKind.IMITATION:
            for text in finding.evidence[1:]:
                console.print(f"  [dim]new:[/] {escape(text)}")
        if finding.suppression:
            console.print(f"  [dim]suppressed:[/] {escape(finding.suppression.in_words())}")


def age(moment: datetime, now: datetime) -> str:
    """Return roughly how long ago something was."""
    return short_duration(max(now - moment, timedelta(0)))


def short_duration(duration: timedelta) -> str:
    seconds = int(duration.total_seconds())
    for size in (86400, 3600, 60):
        if seconds >= 2 * size:
            return format_duration(timedelta(seconds=seconds - seconds % size))
    return f"{seconds}s"
