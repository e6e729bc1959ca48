"""Lock the index file of this process: a numbered file next to the database or in the cache folder.

The first process gets number 0, the next number 1. The lock is released when the process ends, even
if it is killed. So the next process finds the same file and continues where the last one stopped.
"""

import fcntl
import glob
import os
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import msgspec

from vskill_platform.engines.open_engine import INDEX
from vskill_platform.errors import EngineError
from vskill_platform.runtime.cache_folder import cache_path
from vskill_platform.settings import Settings

#: Maximum number of processes on one machine.
_MOST_PROCESSES = 64
#: A running process writes its progress every minute.
_UNUSED_AFTER = timedelta(days=7)
#: Suffixes of the files that SQLite creates.
_ENDINGS = ("", "-wal", "-shm", "-journal")


class IndexLock(msgspec.Struct, frozen=True):
    path: Path
    #: The file descriptor that holds the lock.
    lock: int

    def clear(self) -> None:
        """Delete the index file, so that it is rebuilt."""
        for ending in _ENDINGS:
            Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def leave(self) -> None:
        os.close(self.lock)


def lock_index_file(settings: Settings) -> IndexLock:
    """Lock the first index file that no other process uses."""
    first = cache_path(settings, INDEX) or _in_new_folder()
    for number in range(_MOST_PROCESSES):
        if locked := _try_lock(Path(f"{first}-{number}")):
            _sweep(first)
            return locked
    raise EngineError(f"{first}-…: {_MOST_PROCESSES} processes already have a search index here")


def _in_new_folder() -> Path:
    """Return a path in a private folder, for settings without a cache folder."""
    return Path(tempfile.mkdtemp(prefix="vskill-catalogue-")) / "catalogue"


def _try_lock(path: Path) -> IndexLock | None:
    name = f"{path}.lock"
    try:
        # It contains private skills, so only this user may read it.
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EngineError(f"{name}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_current = os.path.samestat(os.fstat(lock), os.stat(name))  # noqa: PTH116 - of a descriptor
    except (BlockingIOError, FileNotFoundError):
        is_current = False  # another process uses or just removed it
    if is_current:
        return IndexLock(path, lock)
    os.close(lock)
    return None


def _sweep(first: Path) -> None:
    """Remove index files that no process has used for a long time, such as after a scale-down."""
    for lock_file in first.parent.glob(f"{glob.escape(first.name)}-*.lock"):
        path = lock_file.with_suffix("")
        try:
            age = time.time() - max(file.stat().st_mtime for file in (path, lock_file))
        except OSError:  # it is being created or removed
            continue
        if age > _UNUSED_AFTER.total_seconds() and (locked := _try_lock(path)):
            locked.clear()
            lock_file.unlink(missing_ok=True)
            locked.leave()
