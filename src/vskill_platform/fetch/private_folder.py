"""Private folders for fetched sources, and the sweeping up behind workers that were killed."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

PREFIX = "vskill-"
#: Where files lie in memory, on systems that have such a place. A disk's file system may take long
#: to make a new file when many were deleted just before (ext4 looks at each of them): there, making
#: and removing a small skill's files costs more than checking them.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made in it are private
#: Where temporary files go as long as nobody has said anything else. Who has, with TMPDIR, decides
#: about these files too.
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - only compared with
#: More than this goes to the disk, and so does everything when memory is short of this room: the
#: place belongs to others too, and a container's is small.
SMALL_BYTES = 1024 * 1024
ROOM_BYTES = 48 * 1024 * 1024
#: No walk takes that long, so whose folder is older is gone.
ABANDONED_AFTER = timedelta(hours=1)


def new_place(*, in_memory: bool = False) -> Path:
    """Name a private folder to be made."""
    parent = IN_MEMORY if in_memory else Path(tempfile.gettempdir())
    return parent / f"{PREFIX}{secrets.token_hex(8)}"


def fits_into_memory(size: int) -> bool:
    """Tell whether this system has a place in memory, with room for so many bytes of ours."""
    return size <= SMALL_BYTES and tempfile.gettempdir() in _USUAL and _has_room(IN_MEMORY)


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
        for parent in {Path(tempfile.gettempdir()), IN_MEMORY}
        for folder in parent.glob(f"{PREFIX}*")
        if folder.is_dir() and _is_ours(folder) and folder.stat().st_mtime < oldest
    ]
    for folder in abandoned:
        shutil.rmtree(folder, ignore_errors=True)
    return len(abandoned)


def _has_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:  # this system has no such place
        return False
    is_roomy = found.f_bavail * found.f_frsize >= ROOM_BYTES
    return is_roomy and os.access(folder, os.W_OK | os.X_OK)


def _is_ours(folder: Path) -> bool:
    """Tell whether we made it: in a shared temporary folder anybody can use the prefix."""
    return not folder.is_symlink() and folder.stat().st_uid == os.getuid()
