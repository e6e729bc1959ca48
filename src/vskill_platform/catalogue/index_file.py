"""The search index on disk: its connections, writes and progress in the change feed."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from vskill_platform import __version__
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.sql import WRITE, one_row, submission_key
from vskill_platform.catalogue.write_skills import SkillChanges, write_skills
from vskill_platform.catalogue.write_submissions import SubmissionChanges, write_submissions
from vskill_platform.engines.sqlite.connection import UNWRITABLE, connect, write_transaction
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.errors import EngineError

log = get_logger(__name__)

Result = TypeVar("Result")
OnIndex = Callable[[apsw.Connection], Result]

_SCHEMA = files("vskill_platform.catalogue").joinpath("schema.sql").read_text(encoding="utf-8")
#: Increased when the rows change but the schema does not.
_FORMAT = 11
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
        self._path = path
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
        with _errors_translated(self._path), write_transaction(connection):
            return work(connection)

    def _compact(self, connection: apsw.Connection) -> None:
        with _errors_translated(self._path):
            connection.execute("PRAGMA temp_store = FILE")  # the copy is as large as the index
            try:
                connection.execute("VACUUM")
            except (*UNWRITABLE, apsw.BusyError) as error:
                log.warning("search index not compacted", error=str(error))
            finally:
                connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _read(self, work: OnIndex[Result], connection: apsw.Connection) -> Result:
        with _errors_translated(self._path):
            return work(connection)


async def open_connections(path: Path) -> Connections:
    """Open or create the file; raises Damaged if it is corrupt or not an index file."""
    writing, *reading = await work_in_thread(_open_all, path)
    return Connections(path, writing, reading)


def _open_all(path: Path) -> list[apsw.Connection]:
    with _errors_translated(path):
        connections = [_open(path)]
        _prepare(connections[0])
        for _ in range(READERS):
            connections.append(_open(path))
            connections[-1].execute("PRAGMA query_only = ON")
            connections[-1].execute(f"PRAGMA cache_size = -{_READING_CACHE // READERS}")
        return connections


@contextmanager
def _errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGES as error:
        raise Damaged(f"{path}: {error}") from error
    except (apsw.Error, OSError) as error:
        raise EngineError(f"{path}: {error}") from error


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
    found = int(connection.pragma("application_id")), int(connection.pragma("user_version"))
    if found != (APPLICATION_ID, FINGERPRINT):
        connection.close()
        raise Damaged("the file was written by another release")


_encode = msgspec.json.Encoder().encode


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    #: The last revision read from the change feed.
    revision: int = 0
    #: When that was known to be the latest revision, in microseconds; 0 for never.
    current_at: int = 0
    #: The feed's checkpoint at that revision, to detect a restored database.
    checkpoint: str = ""
    #: Whether all records were read at least once.
    is_built: bool = False


class IndexFile:
    def __init__(self, connections: Connections, progress: Progress) -> None:
        self.connections = connections
        self.progress = progress
        #: Increases when a write may change which skills a query finds.
        self.skills_changed = 0
        #: Increases when any skill is written.
        self.skills_written = 0

    async def write(
        self,
        progress: Progress | None = None,
        *,
        skills: SkillChanges | None = None,
        submissions: SubmissionChanges | None = None,
    ) -> None:
        """Write changes and progress in one transaction."""

        def work(connection: apsw.Connection) -> bool:
            is_changed = write_skills(connection, skills) if skills else False
            if submissions:
                write_submissions(connection, submissions)
            if progress:
                connection.execute(WRITE["write_state"], msgspec.structs.asdict(progress))
            return is_changed

        if await self.connections.write(work):
            self.skills_changed += 1
        if skills:
            self.skills_written += 1
        if progress:
            self.progress = progress

    async def delete_events(self) -> None:
        await self.connections.write(lambda connection: connection.execute(WRITE["delete_events"]))

    async def begin_fill(self) -> None:
        """Tune the index for filling."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(f"PRAGMA cache_size = -{FILLING_CACHE}")
            connection.execute(WRITE["gather"])

        await self.connections.write(work)

    async def finish_fill(self) -> None:
        """Merge the full-text indexes after filling, and tune them for searching."""

        def work(connection: apsw.Connection) -> None:
            connection.execute(WRITE["join"])
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            connection.execute("PRAGMA shrink_memory")

        await self.connections.write(work)

    async def compact(self) -> None:
        """Make the file smaller after filling, because rows were not written ordered by id."""
        await self.connections.compact()

    async def slugs_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("slugs_between", after=after, through=through)

    async def submissions_between(self, after: str, through: str | None) -> set[str]:
        return await self._names("submissions_between", after=after, through=through)

    async def slugs_of_submissions(self, submission_ids: Iterable[str]) -> set[str]:
        wanted = _encode([submission_key(one) for one in submission_ids]).decode()
        return await self._names("slugs_of_submissions", keys=wanted)

    async def some_slugs(self, *, after: str, limit: int) -> list[str]:
        return sorted(await self._names("some_slugs", after=after, limit=limit))

    def close(self) -> None:
        self.connections.close()

    async def _names(self, query: str, **bindings: Any) -> set[str]:
        return await self.connections.read(
            lambda connection: {name for (name,) in connection.execute(WRITE[query], bindings)}
        )


async def open_index_file(path: Path) -> IndexFile:
    """Open or create the index file at *path*; raises Damaged if it cannot be used."""
    connections = await open_connections(path)
    revision, current_at, checkpoint, is_built = await connections.read(
        lambda connection: one_row(connection, "read_state")
    )
    return IndexFile(
        connections,
        Progress(
            revision=revision,
            current_at=current_at,
            checkpoint=checkpoint,
            is_built=bool(is_built),
        ),
    )
