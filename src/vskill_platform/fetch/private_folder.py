"""Private folders for fetched sources, and the sweeping up behind workers that were killed."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

PREFIX = "vskill-"
#: No walk takes that long, so whose folder is older is gone.
ABANDONED_AFTER = timedelta(hours=1)


@contextmanager
def make_workspace() -> Iterator[Path]:
    """Make a folder that only we can read, and remove it with all that is in it."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def sweep_workspaces() -> int:
    """Remove what killed workers left behind; return how many folders that were."""
    oldest = time.time() - ABANDONED_AFTER.total_seconds()
    abandoned = [
        folder
        for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")
        if folder.is_dir() and _is_ours(folder) and folder.stat().st_mtime < oldest
    ]
    for folder in abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return len(abandoned)


def _is_ours(folder: Path) -> bool:
    """Tell whether we made it: in a shared temporary folder anybody can use the prefix."""
    return not folder.is_symlink() and folder.stat().st_uid == os.getuid()
