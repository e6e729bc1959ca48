"""Asking before a command decides: on a terminal a question, elsewhere the option --yes."""

import sys

import click

from vskill_platform.base.show_text import show
from vskill_platform.cli.terminal import echo

yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def is_interactive() -> bool:
    """Tell whether somebody can read a question and answer it."""
    return sys.stdin.isatty()


def confirm(question: str) -> None:
    """Ask; every answer but yes ends the command with exit code 1, and nothing has changed."""
    # On stderr, so that the output of the command can go to a file or a pager.
    if not click.confirm(show(question), err=True):
        echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)
