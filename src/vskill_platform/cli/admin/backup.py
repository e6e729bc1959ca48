"""`backup` and `restore`: a verified copy of the database, and back."""

from pathlib import Path

import click

from vskill_platform.cli.admin.check_archives import check_archives
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import (
    confirm,
    echo,
    is_interactive,
    print_json,
    yes_option,
)
from vskill_platform.cli.output.transfer_bar import item_bar
from vskill_platform.cli.run_command import current_settings
from vskill_platform.engines.exported import Contents
from vskill_platform.engines.open_engine import (
    back_up_database,
    has_digest,
    inspect_backup,
    restore_database,
)
from vskill_platform.secret_settings import show_url

_file = click.argument("file", metavar="FILE", type=FilledPath())


@click.command()
@_file
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def backup(*, file: Path, force: bool, as_json: bool) -> None:
    """Copy the database to FILE and verify the copy.

    You can run it while the platform runs. FILE appears only when it is complete, and only its
    owner can read it. Archives outside of the database are not copied; it checks that none is
    missing.
    """
    settings = current_settings()
    contents = back_up_database(settings.database_url, file, replace=force)
    if as_json:
        print_json(contents)
    else:
        echo(f"Backed up to {file}: {file.stat().st_size:,} bytes, verified.")
        _show(contents)
    check_archives(settings, quiet=as_json)


@click.command()
@_file
@click.option("--verify", is_flag=True, help="Verify FILE and show its contents; change nothing.")
@yes_option
def restore(*, file: Path, verify: bool, yes: bool) -> None:
    """Replace the database with the backup in FILE.

    Stop every `serve`, `work` and `tick` first. The backup is verified first, and the old database
    is kept next to the new one under another name.
    """
    settings = current_settings()
    url = settings.database_url
    if verify:
        _inspect(file)
        return
    if not yes:
        if not is_interactive():
            raise click.UsageError("no terminal to confirm on; pass --yes to replace the database")
        _inspect(file)
        confirm(f"Replace the database {show_url(url)} with it?")
    with item_bar("restoring") as on_progress:
        kept = restore_database(url, file, on_progress=on_progress)
    echo(f"Restored {file}. The search index is rebuilt at the next start.")
    if yes:
        _report_missing_digest(file)
    if kept:
        echo(f"The previous database is kept as {kept}.")
    check_archives(settings)


def _inspect(file: Path) -> None:
    contents = inspect_backup(file)
    echo(f"{file} is a valid backup.")
    _show(contents)
    _report_missing_digest(file)


def _report_missing_digest(file: Path) -> None:
    if not has_digest(file):
        echo(
            "It has no digest, as backups of older releases: its structure was verified, but not "
            "that no byte of a value has changed."
        )


def _show(contents: Contents) -> None:
    echo(f"Revision {contents.revision:,}, with:")
    counts = {
        **contents.records,
        "(queued messages)": contents.messages,
        "(dead letters)": contents.dead_letters,
    }
    for kind, count in counts.items():
        echo(f"  {count:>9,}  {kind}")
