"""Private folders for fetched sources, removed beside the event loop."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vskill_platform.base.work_in_thread import work_in_thread
from vskill_platform.fetch.private_folder import PREFIX


@asynccontextmanager
async def open_workspace() -> AsyncIterator[Path]:
    """Make a folder that only we can read; a disk takes its time to forget it all again."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    try:
        yield folder
    finally:
        await work_in_thread(shutil.rmtree, folder, ignore_errors=True)
