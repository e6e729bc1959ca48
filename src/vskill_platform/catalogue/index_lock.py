"""The index file of this process: a numbered file next to the database, held by a lock.

The first process gets number 0, the next number 1. The lock ends with its process, in any way, so
the next start finds the same file and continues where it stopped.
"""

import fcntl
import os
import tempfile
from pathlib import Path

import msgspec

from vskill_platform.engines.open_engine import INDEX, database_file
from vskill_platform.errors import EngineError
from vskill_platform.settings import Settings

#: More processes than this on one machine are a mistake.
_MOST_PROCESSES = 64
#: SQLite's own files next to the main one.
_ENDINGS = ("", "-wal", "-shm", "-journal")


class IndexLock(msgspec.Struct, frozen=True):
    path: Path
    #: Open while the lock is held.
    lock: int

    def clear(self) -> None:
        """Remove the file, so that it is rebuilt."""
        for ending in _ENDINGS:
            Path(f"{self.path}{ending}").unlink(missing_ok=True)

    def leave(self) -> None:
        os.close(self.lock)


def lock_index_file(settings: Settings) -> IndexLock:
    """Lock the first file that no other process holds."""
    first = _beside_database(settings.database_url)
    for number in range(_MOST_PROCESSES):
        path = Path(f"{first}-{number}")
        try:
            # It contains private skills, so nobody else on this machine may read it.
            lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EngineError(f"{path}.lock: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return IndexLock(path, lock)
    raise EngineError(f"{first}-…: {_MOST_PROCESSES} processes have a catalogue here already")


def _beside_database(url: str) -> Path:
    if database := database_file(url):
        return database.with_name(f"{database.name}{INDEX}")
    # The database is elsewhere: use our own folder, in which nobody else can have put anything.
    return Path(tempfile.mkdtemp(prefix="vskill-catalogue-")) / "catalogue"
