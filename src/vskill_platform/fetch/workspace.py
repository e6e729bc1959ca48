"""Provide temporary private folders for fetched sources."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.fetch.snapshot import Listing
from vskill_platform.fetch.temporary_folders import fits_into_memory, new_folder, new_workspace

#: Removing this few files from memory takes less time than starting a thread.
FEW_FILES = 20


class Workspace:
    """A temporary folder, in memory or on disk depending on its size."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._few: list[str] | None = None

    def place(self, listing: Listing) -> Path:
        """Choose the path for the listed files; the caller creates the folder."""
        in_memory = fits_into_memory(listing.size)
        self.folder = new_folder(in_memory=in_memory)
        self._few = listing.files if in_memory and len(listing.files) <= FEW_FILES else None
        return self.folder

    async def remove(self) -> None:
        """Remove the folder with its contents, in a thread unless it is sure to be fast."""
        if self.folder is None:
            return
        if self._few is None or not _remove_few(self.folder, self._few):
            await work_in_thread(shutil.rmtree, self.folder, ignore_errors=True)


def _remove_few(folder: Path, files: list[str]) -> bool:
    """Remove the known files and their folders; return whether nothing is left."""
    parents = [f"{folder}/{parent}" for parent in _folders_of(files)]
    if any(map(os.path.islink, parents)):  # never remove files elsewhere through a link
        return False
    try:
        for file in files:
            os.unlink(f"{folder}/{file}")  # noqa: PTH108 - faster than an object for each
        for parent in parents:
            os.rmdir(parent)  # noqa: PTH106 - the path is a string
        folder.rmdir()
    except OSError:  # it contains other files, or not all listed ones
        return False
    return True


def _folders_of(files: list[str]) -> list[str]:
    """Return all parent folders of these files, innermost first."""
    ways = [file.split("/")[:-1] for file in files]
    folders = {"/".join(way[:end]) for way in ways for end in range(1, len(way) + 1)}
    return sorted(folders, key=len, reverse=True)


@asynccontextmanager
async def planned_workspace() -> AsyncIterator[Workspace]:
    workspace = Workspace()
    try:
        yield workspace
    finally:
        await workspace.remove()


@asynccontextmanager
async def open_workspace() -> AsyncIterator[Path]:
    """Create a private folder for contents of unknown size."""
    async with planned_workspace() as workspace:
        workspace.folder = new_workspace()
        yield workspace.folder
