"""A bar on stderr while many skills are scanned."""

import time
from collections.abc import Iterable, Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vskill_platform.cli.terminal import Console
from vskill_platform.scan.scan_many import Scanned

_BETWEEN_SECONDS = 0.1


def with_progress(scanned: Iterable[Scanned], total: int) -> Iterator[Scanned]:
    """Hand everything on, and move the bar; it has no thread, so that workers can be forked."""
    progress = Progress(
        TextColumn("scanning"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    with progress:
        task = progress.add_task("", total=total)
        shown_at = 0.0
        for one in scanned:
            progress.advance(task)
            if time.monotonic() - shown_at > _BETWEEN_SECONDS:
                progress.refresh()
                shown_at = time.monotonic()
            yield one
