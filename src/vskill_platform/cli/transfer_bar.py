"""The progress bar of an upload or a download."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from vskill_platform.cli.terminal import Console


@contextmanager
def transfer_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Yield what is told the bytes transferred and their total."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(),
               TransferSpeedColumn())  # fmt: skip
    console = Console(stderr=True, quiet=quiet)
    is_off = quiet or not console.is_terminal
    with Progress(*columns, console=console, disable=is_off, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
