"""Refuse empty arguments and options, which usually come from an unset variable of a script.

An empty path would mean the current folder, and an empty option its default.
"""

from pathlib import Path
from typing import Any

import click

_EMPTY = "it is empty."
#: `webhooks change --label ""` removes the name of a webhook.
MAY_BE_EMPTY = frozenset({"label"})


class FilledPath(click.Path):
    """A path that is not empty; as a `Path`, an empty one would be the current folder."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail(_EMPTY, param, ctx)
        return super().convert(value, param, ctx)


def refuse_empty_values(command: click.Command) -> None:
    """Refuse `""` for every parameter of a command, unless that is its default."""
    for parameter in command.params:
        is_checked = parameter.default != "" and parameter.name not in MAY_BE_EMPTY
        if is_checked and parameter.callback is None:
            parameter.callback = _check_not_empty
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            refuse_empty_values(subcommand)


def _check_not_empty(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    if "" in (value if isinstance(value, tuple) else (value,)):
        raise click.BadParameter(_EMPTY, ctx=ctx, param=param)
    return value
