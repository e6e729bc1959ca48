"""`audit`: the audit log."""

import shlex

import click
from rich.table import Column, Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, echo, escape, print_json, wrong_usage
from vskill_platform.cli.run_command import run_command
from vskill_platform.stores.audit_store import AuditPage, AuditRecord, list_audit, read_audit_query

_FILTERS = {"actor": "actor", "action": "action", "target": "target", "start": "from", "end": "to"}


@click.command()
@click.option("--actor", default="", help="Only entries of this user.")
@click.option("--action", default="", help="Only this action, or all that begin with this word.")
@click.option("--target", default="", help="Only targets that contain this text.")
@click.option("--from", "start", default="", help="Only entries since this date or time (UTC).")
@click.option("--to", "end", default="", help="Only entries up to this date (inclusive) or time.")
@click.option(
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="List this many at most.",
)
@click.option("--after", help="Continue after this cursor (printed below a full page).")
@json_option
def audit(*, limit: int, after: str | None, as_json: bool, **filters: str) -> None:
    """List the actions of operators and reviewers, newest first."""
    with wrong_usage():
        query = read_audit_query(**filters)

    async def work() -> AuditPage:
        return await list_audit(after=after, limit=limit, query=query)

    page = run_command(work, read_only=True)
    if as_json:
        print_json({"records": page.records, "cursor": page.cursor})
        return
    if page.records:
        _show(page.records)
    elif page.cursor:
        echo("No matching entries so far.")
    else:
        echo("No entries match." if any(filters.values()) else "The audit log is empty.")
    if page.cursor:
        options = [
            f"--{name} {shlex.quote(filters[key])}"
            for key, name in _FILTERS.items()
            if filters[key]
        ]
        more = " ".join([*options, f"--limit {limit}", f"--after {page.cursor}"])
        echo(f"more: vskill-platform admin audit {more}")


def _show(records: list[AuditRecord]) -> None:
    table = Table(
        Column("when (UTC)", no_wrap=True),
        "actor",
        "action",
        Column("target", overflow="fold"),
        "reason",
        "outcome",
    )
    for record in records:
        cells = (record.actor, record.action, record.subject, record.reason, record.outcome)
        table.add_row(f"{record.at:%Y-%m-%d %H:%M:%S}", *map(escape, cells))
    Console().print(table)
