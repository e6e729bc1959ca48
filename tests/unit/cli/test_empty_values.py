"""Empty arguments, which come from unset variables of scripts, never mean something else."""

from collections.abc import Iterator
from typing import Any

import click
import pytest

from vskill_platform.cli.empty_values import MAY_BE_EMPTY, FilledPath
from vskill_platform.cli.main import cli


def _all_commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command
        if isinstance(command, click.Group):
            yield from _all_commands(command, (*path, name))
        else:
            yield (*path, name), command


def _takes_text(parameter: click.Parameter) -> bool:
    is_flag = isinstance(parameter, click.Option) and parameter.is_flag
    return not is_flag and parameter.default != "" and parameter.name not in MAY_BE_EMPTY


def _given_empty(command: click.Command, parameter: click.Parameter) -> list[str]:
    """Return arguments that parse up to the empty value of one parameter."""
    options = [
        f"{each.opts[0]}=x" for each in command.params
        if isinstance(each, click.Option) and each.required and each is not parameter
    ]  # fmt: skip
    if isinstance(parameter, click.Option):
        options.append(f"{parameter.opts[0]}=")
    words = [
        "" if each is parameter else "x"
        for each in command.params
        if isinstance(each, click.Argument) and (each.required or each is parameter)
    ]
    return [*options, "--", *words]


def test_every_command_refuses_every_empty_value() -> None:
    accepted: list[Any] = []
    for path, command in _all_commands(cli):
        for parameter in filter(_takes_text, command.params):
            arguments = _given_empty(command, parameter)
            context = click.Context(command, info_name=path[-1])
            with context:
                try:
                    command.parse_args(context, list(arguments))
                except click.UsageError:
                    continue
            accepted.append((path, arguments))

    assert not accepted


def test_an_empty_path_is_not_the_current_folder() -> None:
    @click.command()
    @click.option("--dir", "folder", type=FilledPath())
    def command(*, folder: Any) -> None:
        raise AssertionError(folder)

    with pytest.raises(click.BadParameter, match="it is empty"):
        command.main(["--dir", ""], standalone_mode=False)
