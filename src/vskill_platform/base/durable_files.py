"""Write files and folders to the disk before others rely on them: a rename alone is not enough.

After a power cut, a renamed file may exist under its new name without its content.
"""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: Some network and user-space file systems cannot sync a folder.
_CANNOT_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EISDIR})
_AT_ONCE = 8


def sync(path: Path) -> None:
    """Make a file or folder without open connections durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """Make the names in a folder durable, if its file system can do that."""
    try:
        sync(folder)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def sync_tree(folder: Path) -> None:
    """Make all files below a folder durable, and their names; links are not followed.

    Side by side, because file systems combine concurrent syncs: 100 files take as long as 10.
    """
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for parent, _, names in os.walk(folder, topdown=False):
            files = [path for name in names if not (path := Path(parent, name)).is_symlink()]
            list(threads.map(sync, files))
            sync_names(Path(parent))
