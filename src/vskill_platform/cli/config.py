"""`config`: every setting, its value and where it came from."""

import os
from datetime import timedelta

import click
import msgspec
from rich.table import Table

from vskill_platform.cli.near_or_far import json_option
from vskill_platform.cli.run_command import current_settings
from vskill_platform.cli.terminal import Console, escape, print_json
from vskill_platform.secret_settings import FILE_SUFFIX
from vskill_platform.setting_values import format_duration
from vskill_platform.settings import Settings, variable


@click.command()
@json_option
def config(*, as_json: bool) -> None:
    """Show every setting, its value and where it came from."""
    settings = current_settings()
    rows = [
        {
            "variable": variable(field.name),
            "value": _show(getattr(settings, field.name)),
            "from": _origin(variable(field.name)),
        }
        for field in msgspec.structs.fields(Settings)
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("variable", "value", "from")
    for row in rows:
        table.add_row(*map(escape, row.values()))
    Console().print(table)


def _origin(name: str) -> str:
    if name + FILE_SUFFIX in os.environ:
        return "file"
    return "environment" if name in os.environ else "default"


def _show(value: object) -> str:
    return format_duration(value) if isinstance(value, timedelta) else str(value)
