"""`status` and `submissions` on this machine, with the scans of third-party scanners."""

from collections.abc import Collection

import click
from rich.table import Column, Table

from vskill_platform.cli.output.show import (
    age,
    exit_code,
    no_submission,
    show_findings,
    show_progress,
    show_submission,
    state_mark,
)
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import NotFound
from vskill_platform.model.failure import failures_in
from vskill_platform.model.submission import StateEvent, Submission
from vskill_platform.model.verdict import Finding, Report
from vskill_platform.stores.db import get_now
from vskill_platform.stores.external_scan_store import ExternalScan, get_external_scans
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_set_store import get_submission_set
from vskill_platform.stores.submission_store import (
    SubmissionPage,
    get_history,
    get_submission,
    get_submission_index,
    get_submissions_fresh,
)

#: A narrower terminal does not show reasons; `status` shows them.
_WIDTH_WITH_REASONS = 112


def status(*, submission_id: str, watch: bool, as_json: bool) -> None:
    """Show a submission, its history and findings."""

    async def work() -> tuple[Submission, list[StateEvent], Report | None, list[ExternalScan]]:
        if watch:
            await show_progress(submission_id, quiet=as_json)
        stored = await get_submission(submission_id)
        if stored is None:
            raise no_submission(submission_id)
        return (
            stored.record,
            await get_history(submission_id),
            await get_report(submission_id),
            await get_external_scans(submission_id),
        )

    submission, history, report, scans = run_command(work, read_only=True)
    if as_json:
        print_json(
            {
                "submission": submission,
                "history": history,
                "failures": failures_in(report.findings) if report else (),
                "report": report,
                "scans": scans,
            }
        )
    else:
        show_submission(submission, history, report)
        show_scans(scans, known=report.findings if report else ())
    if watch and (code := exit_code(submission.state)):
        raise click.exceptions.Exit(code)


def list_submissions(*, limit: int, after: str | None, set_id: str | None, as_json: bool) -> None:
    """List submissions, newest first."""

    async def work() -> None:
        page = (
            await _read_set(set_id)
            if set_id
            else await get_submission_index(after=after, limit=limit)
        )
        if as_json:
            print_json({"submissions": page.submissions, "cursor": page.cursor})
            return
        _show_table(page.submissions)
        if page.cursor:
            echo(f"more: vskill-platform submissions --limit {limit} --after {page.cursor}")

    run_command(work, read_only=True)


async def _read_set(set_id: str) -> SubmissionPage:
    found = await get_submission_set(set_id)
    if found is None:
        raise NotFound(f"there is no set {set_id!r}; `submit --all` and `status` print set ids")
    return SubmissionPage(await get_submissions_fresh(found.submission_ids), None)


def _show_table(submissions: list[Submission]) -> None:
    if not submissions:
        echo("No submissions yet. Submit one with: vskill-platform submit SOURCE")
        return
    console = Console()
    columns: list[Column | str] = [
        Column("id", no_wrap=True),
        Column("state", no_wrap=True),
        Column("updated", no_wrap=True),
        "skill",
    ]
    if console.width >= _WIDTH_WITH_REASONS or not console.is_terminal:
        columns.append("reason")
    table = Table(*columns)
    for submission in submissions:
        cells = (
            submission.id,
            state_mark(submission.state),
            age(submission.updated_at, get_now()),
            escape(submission.skill_name),
            escape(submission.reason),
        )
        table.add_row(*cells[: len(columns)])
    console.print(table)


def show_scans(scans: list[ExternalScan], *, known: Collection[Finding]) -> None:
    """Show the state of each scan, and results that came too late for the report."""
    if not scans:
        return
    console = Console()
    table = Table(
        "scanner", "status", "ended (UTC)", "note", title="Scanners", title_justify="left"
    )
    for scan in scans:
        ended = f"{scan.completed_at:%m-%d %H:%M:%S}" if scan.completed_at else "-"
        table.add_row(escape(scan.provider), scan.status, ended, escape(scan.note))
    console.print(table)
    late = [finding for scan in scans for finding in scan.findings if finding not in known]
    show_findings(console, tuple(late))
