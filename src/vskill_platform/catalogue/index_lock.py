"""Lock the index file of this process: a numbered file next to the database.

The first process gets number 0, the next number 1. The lock is released when its process ends, even
if it is killed, so the next start finds the same file and continues where it stopped.
"""

import fcntl
import os
import tempfile
from pathlib import Path

import msgspec

from vskill_platform.engines.open_engine import INDEX, database_file
from vskill_platform.errors import EngineError
from vskill_platform.settings import Settings

#: Maximum number of processes on one machine.
_MOST_PROCESSES = 64
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
    first = _beside_database(settings.database_url)
    for number in range(_MOST_PROCESSES):
        path = Path(f"{first}-{number}")
        try:
            # It contains private skills, so only this user may read it.
            lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EngineError(f"{path}.lock: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return IndexLock(path, lock)
    raise EngineError(f"{first}-…: {_MOST_PROCESSES} processes already have a search index here")


def _beside_database(url: str) -> Path:
    if database := database_file(url):
        return database.with_name(f"{database.name}{INDEX}")
    # The database is not a local file: use a new private folder.
    return Path(tempfile.mkdtemp(prefix="vskill-catalogue-")) / "catalogue"
