"""`admin featured`: the skills that the home page shows first."""

import getpass
from collections.abc import Awaitable, Callable

import click

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.publish.moderation.feature_skills import (
    feature,
    list_featured,
    set_featured,
    unfeature,
)


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def featured(context: click.Context, *, as_json: bool) -> None:
    """List or change the featured skills of the home page.

    The home page shows them in the order of the list.
    """
    if context.invoked_subcommand is None:
        _show(list_featured, as_json=as_json, read_only=True)


@featured.command()
@click.argument("slug")
@json_option
def add(*, slug: str, as_json: bool) -> None:
    """Feature a skill, after the others."""
    _show(lambda: feature(slug, actor=getpass.getuser()), as_json=as_json)


@featured.command()
@click.argument("slug")
@json_option
def remove(*, slug: str, as_json: bool) -> None:
    """Stop featuring a skill."""
    _show(lambda: unfeature(slug, actor=getpass.getuser()), as_json=as_json)


@featured.command("set")
@click.argument("slugs", nargs=-1, metavar="[SLUG...]")
@json_option
def set_all(*, slugs: tuple[str, ...], as_json: bool) -> None:
    """Feature these skills in this order, and no others."""
    _show(lambda: set_featured(slugs, actor=getpass.getuser()), as_json=as_json)


def _show(
    work: Callable[[], Awaitable[tuple[str, ...]]], *, as_json: bool, read_only: bool = False
) -> None:
    slugs = run_command(work, read_only=read_only)
    if as_json:
        print_json(slugs)
    elif slugs:
        echo(*slugs)
    else:
        echo("No skills are featured.", err=True)
