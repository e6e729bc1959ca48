"""One SQLite file: opening, pragmas, schema, and translation of its errors."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Literal
from urllib.parse import quote

import apsw

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sql_file import load_migrations, load_queries
from vskill_platform.errors import ConfigError, EngineError

log = get_logger(__name__)

SQL = load_queries("vskill_platform.engines.sqlite", "queries.sql")
MIGRATIONS = load_migrations("vskill_platform.engines.sqlite", "schema")

#: Marks the file as ours, so that another program's database is refused and never migrated.
APPLICATION_ID = 0x76736B6C  # "vskl"
#: How long a statement waits for another process to finish writing.
BUSY_TIMEOUT_MS = 10_000
#: Twice the size that the log reaches between two checkpoints.
LOG_BYTES = 32 * 1024 * 1024

#: SQLite calls the progress handler after this many steps of its virtual machine.
_STEPS = 500
_CREATING = Lock()
#: SQLite's errors if a file, its folder or its disk cannot be written.
UNWRITABLE = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)
#: SQLite's errors for a file that only a backup can replace.
DAMAGED = (apsw.CorruptError, apsw.NotADBError)
_WHAT_TO_DO: dict[type[apsw.Error], str] = {
    apsw.NotADBError: "the file is damaged or not a database; restore it from a backup",
    apsw.CorruptError: "the file is damaged; restore it from a backup",
    apsw.ReadOnlyError: "the file or its folder cannot be written; check their permissions",
    apsw.CantOpenError: "the file cannot be opened; check that its folder exists and is writable",
    apsw.FullError: "the disk is full; nothing of this commit was written; free some space",
    apsw.IOError: "reading or writing the disk failed; nothing of this commit was written",
    apsw.BusyError: "another process has been writing for too long",
}


def translate(error: apsw.Error, path: Path) -> EngineError:
    advice = _WHAT_TO_DO.get(type(error))
    return EngineError(f"{path}: {advice} ({error})" if advice else f"{path}: {error}")


@contextmanager
def errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error


def create_file(path: Path) -> None:
    """Create an empty database file that only its owner can read; keep an existing one.

    SQLite's other files inherit its permissions. This never opens an existing file, because closing
    any descriptor of a file drops every POSIX lock that this process holds on it. SQLite would not
    notice, and another process would delete the write-ahead log in use.
    """
    # A second thread waits until the first has closed its descriptor, and then opens the file.
    with _CREATING, suppress(OSError):  # SQLite will report the problem of the path
        real = path.resolve()  # for a dangling link, the file it points to
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def open_connection(path: Path, *, read_only: bool = False) -> apsw.Connection:
    """Open the database of the registry."""
    connection = connect(
        path,
        # An acknowledged commit must survive a power cut, so FULL syncs the log every time.
        synchronous="FULL",
        cache_kib=32_000,
        log_bytes=LOG_BYTES,
        read_only=read_only,
    )
    # With this, pages that change in every commit are copied from the log a quarter as often.
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    return connection


def connect(
    path: Path,
    *,
    synchronous: Literal["FULL", "NORMAL"],
    cache_kib: int,
    log_bytes: int,
    read_only: bool = False,
) -> apsw.Connection:
    """Open or create one of our files; a log that a long read enlarged is cut to *log_bytes*."""
    if read_only:
        connection = _connect_read_only(path)
    else:
        create_file(path)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
        connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")
    connection.execute(f"PRAGMA journal_size_limit = {log_bytes}")
    # One plan for all bound values; otherwise a query with a range is planned again for each value.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


def _connect_read_only(path: Path) -> apsw.Connection:
    """Open a file that cannot be written, including its log."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX
    connection = apsw.Connection(str(path), flags=flags)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except UNWRITABLE:
        connection.close()
        if log_size(path):
            raise
        # SQLite cannot create its other files here. Without a log, the file alone is complete.
        uri = f"file:{quote(str(path.absolute()))}?immutable=1"
        connection = apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI)
    return connection


def log_size(path: Path) -> int:
    """Return the size of the write-ahead log; the process that closes last removes it."""
    try:
        return Path(f"{path.resolve()}-wal").stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Run several queries on one snapshot of the database."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:  # some errors end it by themselves
            connection.execute("COMMIT")


@contextmanager
def write_transaction(connection: apsw.Connection) -> Iterator[None]:
    """Run an exclusive write transaction; a failure rolls it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def migrate(connection: apsw.Connection, path: Path, migrations: list[str]) -> None:
    """Migrate the schema to the newest version; refuse a newer one."""
    newest = len(migrations)
    # A refused database is left unchanged, and a current one is not written, because the disk may
    # be full. A new file has to be written in any case.
    is_current = newest and check_version(connection, path, newest) == newest
    # A backup has no log. Without one, readers and writers block each other, and an idle process
    # holds no lock that would stop a restore.
    if connection.pragma("journal_mode") != "wal":
        _switch_to_wal(connection)
    if is_current:
        return
    with write_transaction(connection):
        version = check_version(connection, path, newest)
        for number, script in enumerate(migrations[version:], start=version + 1):
            connection.execute(script)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_current(connection: apsw.Connection, path: Path) -> None:
    """Refuse a schema that needs a migration; only commands that write can migrate it."""
    if (version := check_version(connection, path)) < len(MIGRATIONS):
        raise ConfigError(
            f"{path}: the database has schema version {version}, this release needs "
            f"{len(MIGRATIONS)}. Start `vskill-platform serve` or `work`, which upgrade it."
        )


def check_version(connection: apsw.Connection, path: Path, newest: int = len(MIGRATIONS)) -> int:
    """Return the schema version; refuse a newer one, and the database of another program."""
    is_empty = connection.execute("SELECT count(*) FROM sqlite_schema").get == 0
    owner = int(connection.pragma("application_id"))
    if not is_empty and owner != APPLICATION_ID:
        raise ConfigError(f"{path}: this is the database of another program")
    version = int(connection.pragma("user_version"))
    if version > newest:
        raise ConfigError(
            f"{path}: the database has schema version {version}, this release knows only "
            f"{newest}. Install the release that wrote it, or a newer one."
        )
    return version


def check_pages(path: Path, *, within: timedelta) -> None:
    """Refuse a database with damaged pages; log if the check was cut short by its time limit.

    It uses a connection of its own, so that no cache keeps pages that are read only once.
    """
    give_up_at = monotonic() + within.total_seconds()
    with closing(open_connection(path)) as connection:
        connection.set_progress_handler(lambda: monotonic() > give_up_at, _STEPS)
        try:
            found = connection.execute("PRAGMA quick_check(1)").get
        except apsw.InterruptError:
            log.warning(
                "integrity check incomplete: the database is large",
                path=str(path),
                seconds=within.total_seconds(),
            )
            return
    if found != "ok":
        what = " ".join(str(found).split())
        raise EngineError(f"{path}: {_WHAT_TO_DO[apsw.CorruptError]} ({what})")


def check_in_place(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file that was replaced while we waited to open it."""
    has_moved = ctypes.c_int()
    connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(has_moved))
    if has_moved.value:
        raise EngineError(f"{path}: the file was replaced while it was being opened; start again")


def _switch_to_wal(connection: apsw.Connection) -> None:
    """Switch to WAL; try again if another process opens the new file, as SQLite does not wait."""
    give_up_at = monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if monotonic() > give_up_at:
                raise
            sleep(0.005)
        else:
            return
