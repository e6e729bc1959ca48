"""`retry`, `requeue` and `withdraw` on this machine: process a submission again, or end it."""

import getpass
import sys

import click

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.show import state_mark
from vskill_platform.cli.output.terminal import Console, echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.intake.requeue import requeue_all_stuck, requeue_each
from vskill_platform.intake.requeue import retry as retry_one
from vskill_platform.intake.withdraw import withdraw as withdraw_one
from vskill_platform.model.submission import Submission


def retry(*, submission_id: str, as_json: bool) -> None:
    """Retry a finished submission.

    It is checked with the current content of its source.
    """
    actor = getpass.getuser()

    async def work() -> Submission:
        return await retry_one(submission_id, actor=actor, may_replace_ref=True)

    _show([run_command(work, with_policy=True)], as_json=as_json)


@click.command()
@click.argument("submission_ids", metavar="ID…", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All stuck submissions.")
@json_option
def requeue(*, submission_ids: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Requeue stuck submissions with a fresh retry budget."""
    if every == bool(submission_ids):
        raise click.UsageError("give submission ids, or pass --all for all stuck ones")
    actor = getpass.getuser()

    async def work() -> tuple[list[Submission], list[str]]:
        if every:
            return await requeue_all_stuck(actor=actor)
        return await requeue_each(submission_ids, actor=actor)

    done, failed = run_command(work)
    _show(done, as_json=as_json, nothing="Nothing is stuck." if not failed else "")
    for reason in failed:
        echo(f"not requeued: {reason}", err=True)
    if failed:
        sys.exit(1)


def withdraw(*, submission_id: str, reason: str, as_json: bool) -> None:
    """Withdraw a submission; it can be submitted again."""
    actor = getpass.getuser()
    _show(
        [run_command(lambda: withdraw_one(submission_id, actor=actor, reason=reason))],
        as_json=as_json,
    )


def _show(submissions: list[Submission], *, as_json: bool, nothing: str = "") -> None:
    if as_json:
        print_json(submissions)
        return
    console = Console()
    for submission in submissions:
        console.print(f"{submission.id} {state_mark(submission.state)}", highlight=False)
    if not submissions and nothing:
        console.print(nothing)
