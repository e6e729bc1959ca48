"""The progress bars of an upload or a download, and of a copy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from vskill_platform.cli.output.terminal import Console


@contextmanager
def transfer_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function that takes the bytes transferred and their total."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
               TransferSpeedColumn())  # fmt: skip
    console = Console(stderr=True, quiet=quiet)
    is_off = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=is_off, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def item_bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the records and messages that are done, and their total."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())  # fmt: skip
    console = Console(stderr=True, quiet=quiet)
    is_off = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=is_off, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
