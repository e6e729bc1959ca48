"""`config`: every setting, its value and where it came from."""

import click
from rich.table import Table

from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.terminal import Console, escape, print_json
from vskill_platform.cli.run_command import current_settings
from vskill_platform.describe_settings import describe_settings


@click.command()
@json_option
def config(*, as_json: bool) -> None:
    """Show every setting, its value and where it came from."""
    rows = describe_settings(current_settings())
    if as_json:
        print_json(
            [{"variable": row.variable, "value": row.value, "from": row.origin} for row in rows]
        )
        return
    table = Table("variable", "value", "from")
    for row in rows:
        table.add_row(escape(row.variable), escape(row.value), escape(row.origin))
    Console().print(table)
