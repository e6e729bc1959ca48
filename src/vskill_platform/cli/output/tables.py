"""Tables of untrusted text: aligned on a terminal, separated by tabs for programs."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.table import Table

from vskill_platform.cli.output.terminal import Console, escape


class Cell(NamedTuple):
    """A text with a colour."""

    text: str
    style: str = ""


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, keys: Sequence[str] = ()
) -> None:
    """Print rows of untrusted text; columns in *keys*, such as ids, are never cut or wrapped."""
    table = Table()
    for name in columns:
        table.add_column(name, no_wrap=name in keys, overflow="fold")
    for row in rows:
        table.add_row(*map(_marked, row))
    Console().print(table)


def _marked(cell: str | Cell) -> str:
    text, style = cell if isinstance(cell, Cell) else (cell, "")
    return f"[{style}]{escape(text)}[/]" if style else escape(text)
