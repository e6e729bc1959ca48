"""Keep the write-ahead log of a database file small, without blocking anyone.

SQLite reuses the log from its beginning once all of it is in the database file and no one reads it.
But it never shrinks the log by itself, so after a long read it would stay large.
"""

import asyncio
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sqlite.file_watch import log_of

log = get_logger(__name__)

#: A smaller log is left alone, because the next commits fill it again.
KEEP_BYTES = 4 * 1024 * 1024
#: A larger log is truncated even while others write, because under constant load it is never idle.
HURRY_BYTES = 64 * 1024 * 1024
#: Truncating the log needs a moment without writers and readers. In a busy database it waits up to
#: this long for that moment, and commits also wait.
_HURRY_MS = 50
#: The database is idle after this long without a write.
QUIET_SECONDS = 1.0
#: After a reader has prevented it, it is tried again after this many checks.
_LOOKS_AFTER_FAILURE = 5


class _LogState(NamedTuple):
    size: int
    changed_at: int


class LogTrimmer:
    """Checks the log of one file periodically, until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        seen: _LogState | None = None
        skip = 0
        while True:
            await asyncio.sleep(QUIET_SECONDS)
            found = await work_in_thread(_read_log_state, self._path)
            is_quiet, seen = found == seen, found
            skip = max(skip - 1, 0)
            if found is None or skip or found.size <= (KEEP_BYTES if is_quiet else HURRY_BYTES):
                continue
            wait_ms = 0 if is_quiet else _HURRY_MS
            if not await work_in_thread(empty_log, self._path, wait_ms=wait_ms):
                skip = _LOOKS_AFTER_FAILURE


def _read_log_state(path: Path) -> _LogState | None:
    """Check the log without opening it, because closing it would drop SQLite's locks."""
    try:
        found = log_of(path).stat()
    except OSError:
        return None
    return _LogState(found.st_size, found.st_mtime_ns)


def empty_large_log(path: Path) -> None:
    """Truncate the log of an idle file, if it is large enough."""
    found = _read_log_state(path)
    if found and found.size > KEEP_BYTES:
        empty_log(path, wait_ms=0)


def empty_log(path: Path, *, wait_ms: int) -> bool:
    """Copy the log into the file and truncate it; False if it is still in use."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            # The long part comes first, because it blocks no one.
            _, frames, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").get
            if copied < frames:
                return False
            connection.set_busy_timeout(wait_ms)
            is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    except apsw.BusyError:
        return False
    except apsw.Error as error:
        log.warning("write-ahead log not truncated", path=str(path), error=str(error))
        return False
    return not is_busy
