"""Tables: aligned columns on a terminal, tab-separated values for programs."""

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.table import Table

from vskill_platform.cli.terminal import Console, echo, escape


class Cell(NamedTuple):
    """A text with a colour."""

    text: str
    style: str = ""


Row = Sequence[str | Cell]


def show_table(columns: Sequence[str], rows: Iterable[Row], *, keys: Sequence[str] = ()) -> None:
    """Print rows of untrusted text; columns in *keys*, such as ids, are never cut or wrapped.

    Into a pipe or a file each row is one line with tabs, without a heading.
    """
    rows = list(rows)
    if not sys.stdout.isatty():
        for row in rows:
            # A tab in a value is escaped, so that each line has the same number of columns.
            echo_row([_text(cell) for cell in row])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, name in enumerate(columns):
        is_key = name in keys
        widest = max((len(_text(row[number])) for row in rows), default=0)
        table.add_column(
            name,
            no_wrap=is_key,
            min_width=max(widest, len(name)) if is_key else None,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_marked, row))
    Console().print(table)


def echo_row(cells: Sequence[str]) -> None:
    echo_cells = [cell.replace("\t", " ") for cell in cells]
    echo("\t".join(echo_cells), tabs=True)


def _text(cell: str | Cell) -> str:
    return cell.text if isinstance(cell, Cell) else cell


def _marked(cell: str | Cell) -> str:
    if isinstance(cell, Cell) and cell.style:
        return f"[{cell.style}]{escape(cell.text)}[/]"
    return escape(_text(cell))
