"""Safe printing: control characters in foreign text never reach the terminal.

A test ensures that all other modules of the CLI print with it.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich import console, markup
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from vskill_platform.base.show_text import quiet_json, show, show_lines
from vskill_platform.errors import InvalidInput, OutOfResources, VskillError

_STDOUT = 1


@contextmanager
def output_errors() -> Iterator[None]:
    """Report output that fails because of a full disk; click exits quietly on a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise OutOfResources(f"the output could not be written: {error.strerror}") from error


@contextmanager
def wrong_usage(kind: type[VskillError] = InvalidInput) -> Iterator[None]:
    """Report invalid arguments as wrong usage, with exit code 2."""
    try:
        yield
    except kind as error:
        raise click.UsageError(str(error)) from error


def _discard_output() -> None:
    """Discard what is left in the interpreter's buffer at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.dup2(nowhere, _STDOUT)
    finally:
        os.close(nowhere)


class Console(console.Console):
    """A console that escapes control characters, even those that callers did not escape."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        super().__init__(stderr=stderr, quiet=quiet, emoji=False)

    def render(
        self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Control segments come from rich, such as those that move a progress bar.
            yield segment if segment.control else segment._replace(text=show_lines(segment.text))

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; a list is a table on a terminal, and tab-separated values otherwise."""
        (table,) = objects if len(objects) == 1 else (None,)
        if not isinstance(table, Table):
            super().print(*objects, **options)
        # A table with a title is part of a longer report, which is for reading only.
        elif self.is_terminal or table.title:
            super().print(_fitted(table), **options)
        elif not table.row_count:
            echo("The list is empty.", err=True)
        else:
            for row in zip(*(column.cells for column in table.columns), strict=True):
                cells = (Text.from_markup(str(cell)).plain for cell in row)
                echo("\t".join(cell.replace("\t", " ") for cell in cells), tabs=True)

    def _write_buffer(self) -> None:
        with output_errors():
            super()._write_buffer()


def _fitted(table: Table) -> Table:
    """Use as much width as possible, and never cut what must not wrap, such as ids."""
    table.box, table.pad_edge, table.padding = None, False, (0, 2, 0, 0)
    table.header_style = "dim"
    for column in table.columns:
        if column.no_wrap:
            cells = [Text.from_markup(str(cell)) for cell in (column.header, *column.cells)]
            column.min_width = max(cell.cell_len for cell in cells)
        elif column.overflow == "ellipsis":
            column.overflow = "fold"
    return table


def escape(text: str) -> str:
    """Return foreign text for one line of a console, without markup and control characters."""
    return markup.escape(show(text))


def echo(*lines: str, err: bool = False, tabs: bool = False) -> None:
    """Print each of *lines* on its own line, with line ends inside escaped.

    With *tabs*, tabs stay unchanged, because they separate the columns of a table.
    """
    with output_errors():
        for line in lines or ("",):
            shown = "\t".join(map(show, line.split("\t"))) if tabs else show(line)
            click.echo(shown, err=err)


def echo_patch_line(line: str, *, colour: str | None, dim: bool) -> None:
    """Print a line of a patch with its tabs and line end, so that it can be applied."""
    text = line.removesuffix("\r")
    shown = "\t".join(map(show, text.split("\t"))) + line[len(text) :]
    is_plain = Console().no_color  # NO_COLOR is set
    with output_errors():
        click.secho(shown, fg=None if is_plain else colour, dim=dim and not is_plain)


def print_json(value: Any) -> None:
    """Print one value as indented JSON; durations are written in seconds."""
    plain = msgspec.to_builtins(value, str_keys=True)
    try:
        encoded = msgspec.json.encode(plain)
    except UnicodeEncodeError:  # the name of a file on this machine is not UTF-8
        encoded = msgspec.json.encode(_without_surrogates(plain))
    with output_errors():
        click.echo(quiet_json(msgspec.json.format(encoded, indent=2)))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, list):
        return [_without_surrogates(one) for one in value]
    if isinstance(value, dict):
        pairs = value.items()
        return {_without_surrogates(key): _without_surrogates(one) for key, one in pairs}
    return value


yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def is_interactive() -> bool:
    """Return whether someone can read a question and answer it."""
    return sys.stdin.isatty()


def confirm(question: str) -> None:
    """Ask for confirmation; any answer but yes ends the command with exit code 1."""
    # On stderr, so that the output can go to a file or a pager.
    if not click.confirm(show(question), err=True):
        echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)
