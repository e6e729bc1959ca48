"""`reviews` on this machine: submissions that need review, and the decisions about them."""

import getpass

import click
from rich.table import Column, Table

from vskill_platform.base.show_text import count_of
from vskill_platform.cli.output.show import short_duration, show_submission, state_mark
from vskill_platform.cli.output.terminal import (
    Console,
    confirm,
    echo,
    escape,
    is_interactive,
    print_json,
)
from vskill_platform.cli.run_command import run_command
from vskill_platform.model.skill import Capabilities, group_by_capability
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.publish.moderation.list_reviews import Case, Review, get_case, list_reviews
from vskill_platform.publish.moderation.review_skill import (
    ReviewAction,
    ReviewDecision,
    approve,
    decided_already,
    recheck,
    reject,
)

_MAX_FILES = 50


def list_all(*, as_json: bool) -> None:
    async def work() -> list[Review]:
        return await list_reviews()

    found = run_command(work, read_only=True)
    if as_json:
        print_json(found)
    else:
        _show_list(found)


def show(*, submission_id: str, as_json: bool) -> None:
    """Show a submission that needs review.

    It shows the history, findings and files, and the changes since the published version.
    """

    async def work() -> Case:
        return await get_case(submission_id)

    case = run_command(work, read_only=True)
    if as_json:
        print_json(case)
    else:
        _show_case(case)


def approve_one(
    *, submission_id: str, reason: str, digest: str | None, yes: bool, as_json: bool
) -> None:
    """Publish exactly the checked files.

    It fails if the current rules reject them.
    """
    seen = (
        _confirm(submission_id, "Approve", yes=yes, as_json=as_json) if digest is None else digest
    )
    _decide(approve, _ruling(submission_id, reason, seen=seen), as_json=as_json)


def reject_one(
    *, submission_id: str, reason: str, digest: str | None, yes: bool, as_json: bool
) -> None:
    """Reject it; the submitter sees the reason."""
    seen = _confirm(submission_id, "Reject", yes=yes, as_json=as_json) if digest is None else digest
    _decide(reject, _ruling(submission_id, reason, seen=seen), as_json=as_json)


def recheck_one(*, submission_id: str, reason: str, as_json: bool) -> None:
    """Run the whole pipeline again.

    It uses the current content of the source.
    """
    _decide(recheck, _ruling(submission_id, reason, seen=""), as_json=as_json)


def _ruling(submission_id: str, reason: str, *, seen: str) -> ReviewDecision:
    return ReviewDecision(
        submission_id=submission_id, reviewer=getpass.getuser(), reason=reason, seen=seen
    )


def _decide(action: ReviewAction, ruling: ReviewDecision, *, as_json: bool) -> None:
    async def work() -> Submission:
        return await action(ruling)

    submission = run_command(work, with_policy=True)
    if as_json:
        print_json(submission)
    else:
        mark = state_mark(submission.state)
        Console().print(f"{submission.id} {mark}: {escape(submission.reason)}", highlight=False)


def _confirm(submission_id: str, verb: str, *, yes: bool, as_json: bool) -> str:
    """Show the submission and ask for confirmation; return its digest.

    The decision is about exactly this content, so it fails if the content changes meanwhile.
    """

    async def work() -> Case:
        case = await get_case(submission_id)
        if case.submission.state is not SubmissionState.NEEDS_REVIEW:
            raise decided_already(case.submission)
        return case

    case = run_command(work)
    digest = case.submission.digest or ""
    if not as_json:
        _show_case(case)
    if yes:
        return digest
    if as_json or not is_interactive():
        raise click.UsageError(
            f"{verb} needs confirmation, and there is no terminal to ask. Look at it "
            f"with `reviews show {submission_id}`, then pass its --digest, or pass --yes"
        )
    confirm(f"{verb}?")
    return digest


def _show_list(found: list[Review]) -> None:
    if not found:
        echo("Nothing needs review.", err=True)
        return
    table = Table(
        Column("id", no_wrap=True),
        "skill",
        Column("waiting", no_wrap=True),
        "by",
        "source",
        "reason",
    )
    for review in found:
        table.add_row(
            review.id,
            escape(review.slug or review.skill),
            short_duration(review.waits_for),
            escape(review.submitter),
            escape(f"{review.source} {review.path}".strip()),
            escape(review.finding.message if review.finding else review.decided),
        )
    Console().print(table)
    echo("Show one with: vskill-platform reviews show ID")


def _show_case(case: Case) -> None:
    show_submission(case.submission, case.history, case.report)
    console = Console()
    if case.submission.digest:
        console.print(f"[dim]digest[/] {case.submission.digest}", highlight=False, soft_wrap=True)
    if case.published:
        console.print(f"[dim]published[/] {escape(case.published)}", highlight=False)
        if case.difference:
            console.print(f"[dim]files:[/] {escape(case.difference.in_words())}", highlight=False)
            for line in case.difference.lines:
                console.print(f"  [dim]new:[/] {escape(line)}", highlight=False)
        _show_capabilities(console, "can now", case.gained)
        _show_capabilities(console, "no longer", case.lost)
    elif case.report:
        _show_capabilities(console, "can", case.report.capabilities)
    if not case.files:
        echo("The checked files are no longer stored.")
    for file in case.files[:_MAX_FILES]:
        console.print(f"[dim]file[/] {escape(file.path)} ({file.size:,} bytes)", highlight=False)
    if len(case.files) > _MAX_FILES:
        echo(f"and {count_of(len(case.files) - _MAX_FILES, 'more file')}")


def _show_capabilities(console: Console, word: str, found: Capabilities) -> None:
    for name, values in group_by_capability(found).items():
        console.print(f"[dim]{word}[/] {name}: {escape(', '.join(values))}", highlight=False)
