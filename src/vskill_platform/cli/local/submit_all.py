"""`submit --all`: every skill of a repo, folder or archive, with a progress bar."""

import getpass
from collections import Counter
from collections.abc import Sequence

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table

from vskill_platform.base.show_text import count_of
from vskill_platform.cli.output.show import exit_code, state_mark
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.errors import NotFound
from vskill_platform.fetch.allowed_sources import reach_of
from vskill_platform.intake.discover import discovered
from vskill_platform.intake.read_source import LocalFiles
from vskill_platform.intake.submit import SubmitKind
from vskill_platform.intake.submit_set import SubmittedSet, submit_set
from vskill_platform.model.source import Source
from vskill_platform.model.submission import IN_PROGRESS_STATES, Submission
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.follow_submissions import follow_submissions
from vskill_platform.stores.submission_store import get_submissions_fresh

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())


def submit_all(place: Source | LocalFiles, *, watch: bool, as_json: bool) -> int:
    """Submit each skill; return the exit code."""

    async def work() -> tuple[SubmittedSet, list[Submission]]:
        console = Console(stderr=True, quiet=as_json)
        with Progress(*_COLUMNS, console=console, disable=as_json) as bar:
            task = bar.add_task("looking for skills", total=None)
            submitted = await _submit(place, bar, task)
            if watch:
                await _watch(submitted.submission_ids, bar, task)
        return submitted, await get_submissions_fresh(submitted.submission_ids)

    submitted, submissions = run_command(work, create=True, with_policy=True)
    if as_json:
        print_json({"set": submitted, "submissions": submissions})
    else:
        _show(submitted, submissions)
    all_in = all(
        member.result and member.result.kind is not SubmitKind.BLOCKED
        for member in submitted.members
    )
    codes = {exit_code(submission.state) for submission in submissions} if watch else set()
    return 1 if not all_in or 1 in codes else max(codes, default=0)


def no_skills(source: str) -> NotFound:
    return NotFound(f"there is no {MANIFEST} in {source} or in a folder below")


async def _submit(place: Source | LocalFiles, bar: Progress, task: TaskID) -> SubmittedSet:
    async with discovered(place, reach_of(get_settings())) as discovery:
        if not discovery.skills:
            raise no_skills(discovery.source)
        bar.update(task, description="submitting", total=len(discovery.skills))
        return await submit_set(
            discovery, submitter=getpass.getuser(), on_submitted=lambda: bar.advance(task)
        )


async def _watch(submission_ids: Sequence[str], bar: Progress, task: TaskID) -> None:
    """Move the bar with each finished submission, and print it."""
    ended: set[str] = set()
    bar.reset(task, description="checking", total=len(submission_ids))
    async for submission in follow_submissions(submission_ids):
        if submission.state not in IN_PROGRESS_STATES and submission.id not in ended:
            ended.add(submission.id)
            bar.advance(task)
            line = f"{state_mark(submission.state)} {escape(submission.skill_name)}"
            bar.console.print(f"{line}: {escape(submission.reason)}", highlight=False)


def _show(submitted: SubmittedSet, submissions: list[Submission]) -> None:
    current = {submission.id: submission for submission in submissions}
    table = Table("skill", "id", "result", "state", "reason")
    for member in submitted.members:
        found = current.get(member.result.submission.id) if member.result else None
        if member.result is None or found is None:
            table.add_row(
                escape(member.skill.name), "-", "[red]refused[/]", "-", escape(member.error)
            )
            continue
        why = member.result.reason or (
            found.reason if found.state not in IN_PROGRESS_STATES else ""
        )
        table.add_row(
            escape(member.skill.name), found.id, member.result.kind, state_mark(found.state),
            escape(why),
        )  # fmt: skip
    Console().print(table)
    counts = Counter(submission.state for submission in submissions)
    shown = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    echo(f"{count_of(len(submitted.members), 'skill')} in {submitted.set_id}: {shown or 'none'}")
    echo(f"See them with: vskill-platform submissions --set {submitted.set_id}")
