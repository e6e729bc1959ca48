"""`policy`: describe a policy, try it, and show the current one."""

from datetime import date
from pathlib import Path

import click
import msgspec
from rich.table import Table

from vskill_platform.base.clock import SystemClock
from vskill_platform.cli.near_or_far import json_option
from vskill_platform.cli.run_command import (
    current_scanners,
    current_settings,
    read_current_policy,
    run_command,
)
from vskill_platform.cli.terminal import Console, echo, escape, print_json
from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy, digest_of
from vskill_platform.publish.moderation.try_policy import DryRun, describe_policy, try_policy
from vskill_platform.scan.apply_policy import load_policy

_file = click.argument("file", metavar="FILE", type=click.Path(path_type=Path))


@click.group()
def policy() -> None:
    """Check a policy, try it out, or show the current one."""


@policy.command()
@_file
def check(*, file: Path) -> None:
    """Describe in words what a policy does.

    The exit code is 0 if it is valid and 2 if not.
    """
    found = _load(file)
    echo(f"{file} is valid.", *describe_policy(found, _today()))


@policy.command()
@json_option
def show(*, as_json: bool) -> None:
    """Show the current policy.

    It is the one of VSKILL_POLICY, as a worker that starts now would read it.
    """
    settings = current_settings()
    found = read_current_policy(settings)
    if as_json:
        print_json({"file": settings.policy, "digest": digest_of(found), "policy": found})
        return
    head = f"{settings.policy} is in force, {digest_of(found) or 'and changes nothing'}."
    echo(head if settings.policy else "No policy is set (VSKILL_POLICY is empty).")
    echo(*describe_policy(found, _today()))


@policy.command("dry-run")
@_file
@json_option
def dry_run(*, file: Path, as_json: bool) -> None:
    """Show what a policy would change.

    It decides again about every published skill and every one in review, from the stored reports;
    nothing is scanned or changed.
    """
    found = _load(file)

    async def work() -> DryRun:
        return await try_policy(found)

    result = run_command(work, read_only=True, with_policy=True)
    if as_json:
        print_json({**msgspec.to_builtins(result), "counts": result.counts()})
    else:
        _show_dry_run(result)


def _show_dry_run(result: DryRun) -> None:
    echo(
        f"{result.published} published and {result.in_review} in review, evaluated again: "
        f"{len(result.changes)} would change."
    )
    if result.changes:
        table = Table("skill", "now", "new", "reason")
        for change in result.changes:
            table.add_row(
                escape(change.skill), _OUTCOMES[change.now], _OUTCOMES[change.then],
                escape(change.clause),
            )  # fmt: skip
        Console().print(table)
        for way, count in sorted(result.counts().items()):
            echo(f"{way}: {count}")
    for name in result.unknown:
        echo(f"unknown: {name} (no stored report on its current content)")


_OUTCOMES = {"publish": "published", "review": "in review", "reject": "rejected"}


def _load(file: Path) -> Policy:
    """Read a policy as at start-up, with the scanners that it names."""
    try:
        found = load_policy(file)
        current_scanners(current_settings(), found)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    return found


def _today() -> date:
    return SystemClock().now().date()
