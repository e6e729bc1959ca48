"""`policy`: check, try, save, compare and restore policies."""

import getpass
from datetime import date
from pathlib import Path

import click
import msgspec
from rich.table import Table

from vskill_platform.base.clock import SystemClock
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import (
    Console,
    confirm,
    echo,
    echo_patch_line,
    escape,
    is_interactive,
    print_json,
    wrong_usage,
    yes_option,
)
from vskill_platform.cli.output.transfer_bar import item_bar
from vskill_platform.cli.run_command import (
    current_scanners,
    current_settings,
    read_current_policy,
    run_command,
)
from vskill_platform.engines.open_engine import database_file
from vskill_platform.errors import ConfigError
from vskill_platform.model.describe_policy import describe_policy
from vskill_platform.model.policy import Policy, digest_of
from vskill_platform.publish.policy.edit_policy import (
    PolicyDraft,
    compare_texts,
    current_version,
    find_policy_version,
    restore_policy,
    save_policy,
)
from vskill_platform.publish.policy.try_policy import DryRun, try_policy
from vskill_platform.publish.versions.diff_versions import FileChange
from vskill_platform.scan.apply_policy import load_policy, parse_policy
from vskill_platform.settings import Settings
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.policy_store import PolicyVersion, list_policy_versions

_A_PAGE = 50
_file = click.argument("file", metavar="FILE", type=FilledPath())
_reason = click.option("--reason", required=True, help="Why; recorded with the version.")
_base = click.option(
    "--base",
    type=click.IntRange(0),
    help="The version you edited; refused if there is a newer one.",
)


@click.group()
def policy() -> None:
    """Check, try, save and restore policies."""


@policy.command()
@_file
def check(*, file: Path) -> None:
    """Describe in words what a policy does.

    The exit code is 0 if it is valid and 2 if not.
    """
    found = _load(file)
    echo(f"{file} is valid.", *describe_policy(found, _today()))


@policy.command()
@click.option("--version", "number", type=click.IntRange(1), help="Show this saved version.")
@click.option("--text", is_flag=True, help="Print the TOML instead of describing it.")
@json_option
def show(*, number: int | None, text: bool, as_json: bool) -> None:
    """Show the current policy, or a saved version.

    The current one is the file of VSKILL_POLICY, else the version that was saved last.
    """
    settings = current_settings()
    version = _saved_version(number)
    is_current = number is None
    found = current_policy(settings) if is_current else _parse(version)
    if text:
        echo(*_text(settings, version, is_current=is_current).splitlines(), tabs=True)
        return
    if as_json:
        print_json(
            {
                "file": settings.policy if is_current else "",
                "version": version.number if version else None,
                "digest": digest_of(found),
                "policy": found,
            }
        )
        return
    echo(_head(settings, version, digest_of(found), is_current=is_current))
    echo(*describe_policy(found, _today()))


def _head(
    settings: Settings, version: PolicyVersion | None, digest: str, *, is_current: bool
) -> str:
    if is_current and settings.policy:
        return f"{settings.policy} is active, {digest or 'and changes nothing'}."
    if version is None:
        return "No policy is set (VSKILL_POLICY is empty), and none is saved."
    words = f"Version {version.number} was saved by {version.author}"
    return f"{words} at {version.at:%Y-%m-%d %H:%M} UTC: {version.reason}"


def _text(settings: Settings, version: PolicyVersion | None, *, is_current: bool) -> str:
    if is_current and settings.policy:
        return Path(settings.policy).read_text(encoding="utf-8")
    return version.text if version else ""


@policy.command("dry-run")
@_file
@json_option
def dry_run(*, file: Path, as_json: bool) -> None:
    """Show what a policy would change.

    It decides again on every published skill and every submission that needs review, from the
    stored reports; nothing is scanned or changed.
    """
    result = _dry_run(_load(file), quiet=as_json)
    if as_json:
        print_json({**msgspec.to_builtins(result), "counts": result.counts()})
    else:
        _show_dry_run(result)


@policy.command()
@_file
@_reason
@_base
@yes_option
@json_option
def save(*, file: Path, reason: str, base: int | None, yes: bool, as_json: bool) -> None:
    """Save a policy as a new version, which all nodes apply at once.

    On a terminal it shows what would change and asks for confirmation first.
    """
    found = _load(file)
    _ask(found, "Save this policy?", yes=yes or as_json)
    text = file.read_text(encoding="utf-8")

    async def work() -> PolicyVersion:
        return await save_policy(
            PolicyDraft(
                text=text, base=await _base_or_newest(base), reason=reason, author=getpass.getuser()
            )
        )

    _saved(run_command(work, create=True), as_json=as_json)


@policy.command()
@click.argument("number", type=click.IntRange(1))
@_reason
@_base
@yes_option
@json_option
def restore(*, number: int, reason: str, base: int | None, yes: bool, as_json: bool) -> None:
    """Save an old version again, as a new version.

    On a terminal it shows what would change and asks for confirmation first.
    """
    _ask(_parse(_saved_version(number)), f"Restore version {number}?", yes=yes or as_json)

    async def work() -> PolicyVersion:
        newest = await _base_or_newest(base)
        return await restore_policy(number, base=newest, reason=reason, author=getpass.getuser())

    _saved(run_command(work), as_json=as_json)


@policy.command()
@json_option
def versions(*, as_json: bool) -> None:
    """List the saved versions, newest first."""

    async def work() -> list[PolicyVersion]:
        page = await list_policy_versions(limit=_A_PAGE)
        found = page.versions
        while page.before is not None:
            page = await list_policy_versions(before=page.before, limit=_A_PAGE)
            found += page.versions
        return found

    found = run_command(work, read_only=True)
    if as_json:
        print_json([_as_json(one) for one in found])
        return
    table = Table("version", "saved", "author", "reason", "digest")
    for one in found:
        table.add_row(
            str(one.number), f"{one.at:%Y-%m-%d %H:%M}", escape(one.author), escape(one.reason),
            one.digest or "defaults",
        )  # fmt: skip
    Console().print(table)


@policy.command()
@click.argument("old", type=click.IntRange(1))
@click.argument("new", type=click.IntRange(1))
def diff(*, old: int, new: int) -> None:
    """Compare two saved versions line by line."""

    async def work() -> FileChange:
        one, other = await find_policy_version(old), await find_policy_version(new)
        return await compare_texts(one.text, other.text)

    found = run_command(work, read_only=True)
    colours = {"+": "green", "-": "red"}
    for line in found.lines:
        echo_patch_line(line, colour=colours.get(line[:1]), dim=line.startswith("@@"))
    if not found.lines:
        echo(found.note or "The texts are the same.", err=True)


def current_policy(settings: Settings) -> Policy:
    """Return the policy that a worker would apply if it started now."""
    if settings.policy or not _has_database(settings):
        return read_current_policy(settings)

    async def work() -> Policy:
        return bound_env().policy

    return run_command(work, read_only=True, with_policy=True)


def _has_database(settings: Settings) -> bool:
    """Return whether there can be a saved policy; before the first start there is no database."""
    file = database_file(settings.database_url)
    return file is None or file.exists()


def _saved_version(number: int | None) -> PolicyVersion | None:
    """Return a saved version; None stands for the newest one, if there is any."""
    if number is None and not _has_database(current_settings()):
        return None

    async def work() -> PolicyVersion | None:
        return await (find_policy_version(number) if number else current_version())

    return run_command(work, read_only=True)


def _parse(version: PolicyVersion | None) -> Policy:
    return parse_policy(version.text if version else "")


async def _base_or_newest(base: int | None) -> int:
    newest = await current_version()
    return base if base is not None else newest.number if newest else 0


def _ask(found: Policy, question: str, *, yes: bool) -> None:
    if yes or not is_interactive() or not _has_database(current_settings()):
        return
    _show_dry_run(_dry_run(found, quiet=False))
    confirm(question)


def _saved(version: PolicyVersion, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(version))
    else:
        echo(f"Version {version.number} is saved. All nodes apply it from now on.")


def _as_json(version: PolicyVersion) -> dict[str, object]:
    fields = msgspec.to_builtins(version)
    return {
        name: fields[name] for name in ("number", "at", "author", "reason", "digest", "restored")
    }


def _dry_run(found: Policy, *, quiet: bool) -> DryRun:
    async def work() -> DryRun:
        with item_bar("Dry run", quiet=quiet) as tell:
            return await try_policy(found, on_progress=tell)

    return run_command(work, read_only=True, with_policy=True)


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
    with wrong_usage(ConfigError):
        found = load_policy(file)
        current_scanners(current_settings(), found)
    return found


def _today() -> date:
    return SystemClock().now().date()
