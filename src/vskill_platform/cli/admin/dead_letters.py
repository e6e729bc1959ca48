"""`dead-letters`: list, requeue or drop failed messages."""

import getpass

import click
from rich.table import Column, Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import (
    Console,
    confirm,
    echo,
    escape,
    is_interactive,
    print_json,
    yes_option,
)
from vskill_platform.cli.run_command import run_command
from vskill_platform.engines.ports import DeadLetter
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.stores.db import get_queue

_PAGE = 100


@click.group("dead-letters")
def dead_letters() -> None:
    """List, requeue or drop failed messages (dead letters)."""


@dead_letters.command("list")
@json_option
def list_letters(*, as_json: bool) -> None:
    """List all dead letters with their reasons."""

    async def work() -> list[DeadLetter]:
        letters: list[DeadLetter] = []
        while page := await get_queue().dead_letters(
            after=letters[-1].message_id if letters else 0, limit=_PAGE
        ):
            letters += page
        return letters

    letters = run_command(work, read_only=True)
    if as_json:
        print_json(
            [
                {
                    "id": letter.message_id,
                    "submission": letter.key,
                    "attempts": letter.attempts,
                    "reason": letter.reason,
                    "buried_at": letter.buried_at,
                }
                for letter in letters
            ]
        )
        return
    if not letters:
        echo("There are no dead letters.", err=True)
        return
    table = Table("id", Column("submission", no_wrap=True), "attempts", "failed (UTC)", "reason")
    for letter in letters:
        table.add_row(
            str(letter.message_id),
            letter.key or "-",
            str(letter.attempts),
            f"{letter.buried_at:%Y-%m-%d %H:%M:%S}",
            escape(letter.reason),
        )
    Console().print(table)


@dead_letters.command()
@click.argument("message_id", metavar="ID", type=int)
def requeue(*, message_id: int) -> None:
    """Requeue a dead letter; its submission starts over."""

    async def work() -> None:
        submission = await requeue_dead_letter(message_id, actor=getpass.getuser())
        echo(f"Requeued: {submission.id if submission else f'message {message_id}'}")

    run_command(work)


#: The name of earlier releases, which scripts may use.
dead_letters.add_command(
    click.Command("revive", hidden=True, params=requeue.params, callback=requeue.callback)
)


@dead_letters.command()
@click.argument("message_id", metavar="ID", type=int)
@yes_option
def drop(*, message_id: int, yes: bool) -> None:
    """Delete a dead letter; its submission keeps its state and reason."""
    if not yes and is_interactive():
        confirm(f"Drop dead letter {message_id} permanently?")

    async def work() -> None:
        await drop_dead_letter(message_id, actor=getpass.getuser())
        echo("Dropped.")

    run_command(work)
