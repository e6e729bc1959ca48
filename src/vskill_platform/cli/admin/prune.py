"""`admin prune`: remove records that are past their retention, or count them."""

import click

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.tables import show_table
from vskill_platform.cli.output.terminal import echo, print_json
from vskill_platform.cli.run_command import run_command
from vskill_platform.cron.prune import prune as run_prune
from vskill_platform.cron.prune_preview import preview_prune


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@json_option
def prune(*, dry_run: bool, as_json: bool) -> None:
    """Remove records that are past their retention.

    The cron job does the same every hour. The settings VSKILL_KEEP_… say how long records are kept.
    """
    if not dry_run:
        done = run_command(run_prune)
        if as_json:
            print_json({"removed": done})
        else:
            echo(f"{done}.")
        return
    rows = run_command(preview_prune, read_only=True)
    if as_json:
        print_json({"rows": rows})
        return
    show_table(
        ("what", "count", "bytes", "removed"),
        [(row.kind, f"{row.count:,}", f"{row.bytes:,}", row.rule) for row in rows],
        keys=("what", "count", "bytes"),
    )
