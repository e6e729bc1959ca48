"""List the files below a folder without following links."""

import os
import stat
from pathlib import Path
from typing import NamedTuple


class FoundFile(NamedTuple):
    #: Relative to the folder, with slashes.
    name: str
    size: int
    #: Whether it is a regular file, neither a link nor a special file.
    is_plain: bool


def list_files(folder: Path) -> list[FoundFile]:
    """Return every file below *folder*, unordered, and links to files with their target's size."""
    found: list[FoundFile] = []
    todo = [""]
    while todo:
        inside = todo.pop()
        with os.scandir(os.path.join(folder, inside)) as entries:  # noqa: PTH118 - ten times faster
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{inside}{entry.name}/")
                elif (size := _size(entry)) is not None:
                    is_plain = not entry.is_symlink()
                    found.append(FoundFile(f"{inside}{entry.name}", size, is_plain))
    return found


def _size(entry: os.DirEntry[str]) -> int | None:
    """Return the size of a file; None for anything else, such as a broken link."""
    try:
        status = entry.stat()
    except OSError:
        if not entry.is_symlink():
            raise
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
