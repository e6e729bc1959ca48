"""`audit`: the audit log."""

import click
from rich.table import Column, Table

from vskill_platform.cli.near_or_far import json_option
from vskill_platform.cli.run_command import run_command
from vskill_platform.cli.terminal import Console, echo, escape, print_json
from vskill_platform.stores.audit_store import AuditPage, AuditRecord, list_audit


@click.command()
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--after", help="Continue after this cursor (printed below a full page).")
@json_option
def audit(*, limit: int, after: str | None, as_json: bool) -> None:
    """List the actions of operators and reviewers, newest first."""

    async def work() -> AuditPage:
        return await list_audit(after=after, limit=limit)

    page = run_command(work, read_only=True)
    if as_json:
        print_json({"records": page.records, "cursor": page.cursor})
    elif not page.records:
        echo("The audit log is empty.")
    else:
        _show(page.records)
        if page.cursor:
            echo(f"more: vskill-platform audit --limit {limit} --after {page.cursor}")


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
