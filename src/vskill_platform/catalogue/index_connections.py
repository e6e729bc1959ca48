"""The file of the search index: opening it, its connections, and translation of its errors."""

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import apsw

from vskill_platform import __version__
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sqlite.connection import UNWRITABLE, connect, write_transaction
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.errors import EngineError

log = get_logger(__name__)

Result = TypeVar("Result")
OnIndex = Callable[[apsw.Connection], Result]

_SCHEMA = files("vskill_platform.catalogue").joinpath("schema.sql").read_text(encoding="utf-8")
#: Increased when the rows change but the schema does not.
_FORMAT = 12
#: Identifies the release: a file written by another release is rebuilt.
FINGERPRINT = zlib.crc32(f"{__version__} {_FORMAT} {_SCHEMA}".encode()) & 0x7FFFFFFF
#: Identifies the file type.
APPLICATION_ID = 0x76736B63  # "vskc"
#: SQLite releases the GIL, so readers run in parallel, and a slow query must not block the others.
READERS = min(max(os.cpu_count() or 2, 2), 4)
#: Cache sizes in kilobytes: of all readers together, of the writer, and of the writer during a
#: fill. The file is not memory-mapped, because a disk error or a truncated file would kill the
#: process.
_READING_CACHE, CACHE, FILLING_CACHE = 96_000, 24_000, 64_000
#: Maximum size of the write-ahead log after a checkpoint.
_LOG_BYTES = 64 * 1024 * 1024
#: SQLite errors that require a new file.
_DAMAGES = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.FormatError,
    apsw.SchemaChangeError,
    apsw.MismatchError,
)


class Damaged(EngineError):
    """The file cannot be read and must be rebuilt."""


class Connections:
    """The connections to an open index file."""

    def __init__(
        self, path: Path, writing: apsw.Connection, reading: Sequence[apsw.Connection]
    ) -> None:
        self.path = path
        self._writer = ConnectionThreads([writing], name="catalogue-writer")
        self._readers = ConnectionThreads(reading, name="catalogue-reader")

    async def write(self, work: OnIndex[Result]) -> Result:
        """Run *work* in one transaction: all or nothing."""
        return await self._writer.run(partial(self._write, work))

    async def read(self, work: OnIndex[Result]) -> Result:
        return await self._readers.run(partial(self._read, work))

    async def compact(self) -> None:
        """Remove free and half-empty pages, if there is space for a temporary copy."""
        await self._writer.run(self._compact)

    def close(self) -> None:
        """Finish running work and close the file."""
        self._readers.close()
        self._writer.close()

    def _write(self, work: OnIndex[Result], connection: apsw.Connection) -> Result:
        with _errors_translated(self.path), write_transaction(connection):
            return work(connection)

    def _compact(self, connection: apsw.Connection) -> None:
        with _errors_translated(self.path):
            connection.execute("PRAGMA temp_store = FILE")  # the copy is as large as the index
            try:
                connection.execute("VACUUM")
            except (*UNWRITABLE, apsw.BusyError) as error:
                log.warning("search index not compacted", error=str(error))
            finally:
                connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _read(self, work: OnIndex[Result], connection: apsw.Connection) -> Result:
        with _errors_translated(self.path):
            return work(connection)


async def open_connections(path: Path) -> Connections:
    """Open or create the file; raises Damaged if it is corrupt or not an index file."""
    writing, *reading = await work_in_thread(_open_all, path)
    return Connections(path, writing, reading)


def _open_all(path: Path) -> list[apsw.Connection]:
    with _errors_translated(path):
        connections = [_open(path)]
        _prepare(connections[0])
        connections += [_open_to_read(path) for _ in range(READERS)]
        return connections


@contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGES as error:
        raise Damaged(f"{path}: {error}") from error
    except (apsw.Error, OSError) as error:
        raise EngineError(f"{path}: {error}") from error


def open_reader(path: Path) -> apsw.Connection:
    """Open a file that another process keeps current."""
    with _errors_translated(path):
        if not path.exists():
            raise EngineError(f"{path}: there is no such file")
        connection = _open_to_read(path)
        _check_release(connection)
        return connection


def _open_to_read(path: Path) -> apsw.Connection:
    connection = _open(path)
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA cache_size = -{_READING_CACHE // READERS}")
    return connection


def _open(path: Path) -> apsw.Connection:
    # NORMAL: a power cut may lose the last changes, which are then read again.
    return connect(path, synchronous="NORMAL", cache_kib=CACHE, log_bytes=_LOG_BYTES)


def _prepare(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    if connection.execute("SELECT count(*) FROM sqlite_schema").get == 0:
        with write_transaction(connection):
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FINGERPRINT}")
    _check_release(connection)


def _check_release(connection: apsw.Connection) -> None:
    found = int(connection.pragma("application_id")), int(connection.pragma("user_version"))
    if found != (APPLICATION_ID, FINGERPRINT):
        connection.close()
        raise Damaged("the file was written by another release")
