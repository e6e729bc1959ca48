"""`appeals`: appeal a verdict, and decide appeals."""

from typing import Any

import click

from vskill_platform.cli.local_or_remote import json_option, registry_option, run_remote

_HERE = "remote.appeals"
_id = click.argument("appeal_id", metavar="ID")
_text = click.option("--text", required=True, metavar="TEXT", help="Your message.")


@click.group()
def appeals() -> None:
    """Appeal verdicts about your skills, or decide appeals.

    You can appeal a rejection, a block, or a version that someone else yanked.
    """


@appeals.command("list")
@click.option("--status", type=click.Choice(["mine", "open", "all"]), default="mine",
              show_default=True, help="For reviewers: open ones, or all.")  # fmt: skip
@json_option
@registry_option
def list_appeals(*, registry: str | None, **options: Any) -> None:
    """List appeals."""
    run_remote(f"{_HERE}:list_all", registry, **options)


@appeals.command("open")
@click.argument("subject")
@_text
@json_option
@registry_option
def open_one(*, registry: str | None, **options: Any) -> None:
    """Appeal the verdict about a submission or a version.

    SUBJECT is the id of the submission, or SLUG@VERSION.
    """
    run_remote(f"{_HERE}:open_one", registry, **options)


@appeals.command()
@_id
@json_option
@registry_option
def show(*, registry: str | None, **options: Any) -> None:
    """Show an appeal with its messages."""
    run_remote(f"{_HERE}:show", registry, **options)


@appeals.command()
@_id
@_text
@json_option
@registry_option
def answer(*, registry: str | None, **options: Any) -> None:
    """Add a message to an open appeal."""
    run_remote(f"{_HERE}:answer", registry, **options)


@appeals.command()
@_id
@click.argument("decision", type=click.Choice(["granted", "rejected"]))
@_text
@json_option
@registry_option
def decide(*, registry: str | None, **options: Any) -> None:
    """Grant or reject an appeal; its author gets the answer."""
    run_remote(f"{_HERE}:decide", registry, **options)


@appeals.command()
@_id
@json_option
@registry_option
def withdraw(*, registry: str | None, **options: Any) -> None:
    """Withdraw your appeal."""
    run_remote(f"{_HERE}:withdraw", registry, **options)
