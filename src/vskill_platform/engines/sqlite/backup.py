"""Back up a database while it is in use, and restore a backup.

SQLite's backup API copies all pages in one step, within one read transaction. So the copy is the
database as of one commit, while writers continue. A copy in many steps, such as `.backup` of the
`sqlite3` program, starts over at every write. `VACUUM INTO` would also work, but it rebuilds every
tree. The log grows during the read, so the faster way keeps it smaller.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from vskill_platform.base.durable_files import sync, sync_names
from vskill_platform.engines.exported import Contents
from vskill_platform.engines.part_file import (
    DATABASE_ENDINGS,
    check_target,
    os_errors_translated,
    put_in_place,
    write_part,
)
from vskill_platform.engines.sqlite.connection import (
    DAMAGED,
    MIGRATIONS,
    SQL,
    check_version,
    errors_translated,
    migrate,
    open_connection,
    snapshot,
    translate,
)
from vskill_platform.engines.sqlite.file_watch import check_log
from vskill_platform.engines.sqlite.seal import check_seal, write_seal
from vskill_platform.errors import ConfigError, EngineError

#: The bytes that every connection to a database locks (https://www.sqlite.org/lockingv3.html).
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
_IN_USE = (
    "the database is in use. Stop every `serve`, `work` and `tick`, and every other program that "
    "has it open, then try again"
)


def back_up(database: Path, target: Path, *, replace: bool) -> Contents:
    """Copy the database to *target*; the copy gets its name only after it is verified."""
    _refuse_own_files(database, target)
    check_target(target, replace=replace)
    check_log(database)
    with errors_translated(database), closing(open_connection(database)) as source:
        if check_version(source, database) == 0:
            raise ConfigError(f"{database}: there is nothing in the database yet")
        with write_part(target) as part, errors_translated(target):
            contents = _copy(source, part)
            write_seal(part)
            _verify(part, contents, name=target)
            put_in_place(part, target, replace=replace)
    return contents


def inspect_backup(source: Path) -> Contents:
    """Verify a backup without changing it; return its counts."""
    if not source.is_file():
        raise ConfigError(f"{source}: there is no such file")
    with os_errors_translated(source):
        check_seal(source)
    with errors_translated(source), closing(_open_to_read(source)) as connection:
        if check_version(connection, source) == 0:
            raise ConfigError(f"{source}: the file is empty or not a backup of this platform")
        _check_integrity(connection, source)
        with snapshot(connection):
            return _read_contents(connection)


def restore(database: Path, source: Path) -> Path | None:
    """Replace the database by a copy of *source*; return where the old one is kept.

    After an interruption, either the old database is in place, with all its commits, or the new
    one.
    """
    _refuse_own_files(database, source)
    with _used_by_nobody_else(database):
        pass  # fail before the long copy
    contents = inspect_backup(source)
    with write_part(database) as part, errors_translated(part):
        with closing(_open_to_read(source)) as connection:
            _copy(connection, part)
        _begin_new_history(part)
        _verify(part, contents, name=source)
        with _used_by_nobody_else(database):
            _take_over_owner(database, part)
            sync(part)
            kept = _keep_aside(database)
            part.replace(database)
            sync_names(database.parent)
    return kept


def _copy(source: apsw.Connection, part: Path) -> Contents:
    with snapshot(source), closing(apsw.Connection(str(part))) as target:
        contents = _read_contents(source)
        with target.backup("main", source, "main") as copying:
            copying.step(-1)
        # A single file, which can also be read from a read-only folder.
        target.execute("PRAGMA journal_mode = DELETE")
    return contents


def _read_contents(connection: apsw.Connection) -> Contents:
    records = {str(kind): int(count) for kind, count in connection.execute(SQL["count_records"])}
    counts: list[Any] = connection.execute(SQL["count_messages"]).fetchall()
    state: list[Any] = connection.execute(SQL["read_state"]).fetchall()
    ((messages, dead_letters),), ((revision, *_),) = counts, state
    return Contents(
        revision=revision, records=records, messages=messages, dead_letters=dead_letters
    )


def _verify(part: Path, expected: Contents, *, name: Path) -> None:
    with closing(_open_to_read(part)) as connection:
        _check_integrity(connection, name)
        found = _read_contents(connection)
    if found != expected:
        raise EngineError(f"{name}: the copy holds {found}, not {expected}; try again")


def _check_integrity(connection: apsw.Connection, path: Path) -> None:
    found = [
        " ".join(str(text).split()) for (text,) in connection.execute("PRAGMA integrity_check(5)")
    ]
    if found != ["ok"]:
        raise EngineError(f"{path}: the data to copy is damaged: {'; '.join(found)}")


def _begin_new_history(part: Path) -> None:
    with closing(open_connection(part)) as connection:
        migrate(connection, part, MIGRATIONS)
        connection.execute(SQL["begin_new_history"])
        connection.execute("PRAGMA journal_mode = DELETE")


def _open_to_read(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)


def _refuse_own_files(database: Path, other: Path) -> None:
    own = [Path(f"{database}{ending}") for ending in DATABASE_ENDINGS]
    if any(_is_same_file(file, other) for file in own):
        raise ConfigError(f"{other}: this is the database itself, or one of its files")


def _is_same_file(one: Path, other: Path) -> bool:
    if one.resolve() == other.resolve():
        return True
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return False


@contextmanager
def _used_by_nobody_else(database: Path) -> Iterator[None]:
    """Hold the exclusive lock of the database, after its log is applied."""
    if not database.exists():
        yield
        return
    try:
        connection = _lock_by_sqlite(database)
    except DAMAGED:  # that is why it is being replaced
        with _locked_bytes(database):
            yield
    else:
        with closing(connection):
            yield


def _lock_by_sqlite(database: Path) -> apsw.Connection:
    with errors_translated(database):
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # Copies the log into the file and removes the log, which only the last connection can do.
        mode = connection.execute("PRAGMA journal_mode = DELETE").get
        connection.execute("BEGIN EXCLUSIVE")
    except (apsw.BusyError, apsw.LockedError) as error:
        connection.close()
        raise EngineError(f"{database}: {_IN_USE}") from error
    except DAMAGED:
        connection.close()
        raise
    except apsw.Error as error:
        connection.close()
        raise translate(error, database) from error
    if mode != "delete":
        connection.close()
        raise EngineError(f"{database}: {_IN_USE}")
    return connection


@contextmanager
def _locked_bytes(database: Path) -> Iterator[None]:
    """Hold SQLite's lock on a file that SQLite cannot read and that is not open here."""
    descriptor = os.open(database, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        except OSError as error:
            raise EngineError(f"{database}: {_IN_USE}") from error
        yield
    finally:
        os.close(descriptor)


def _take_over_owner(database: Path, part: Path) -> None:
    """Give the new file the owner of the old database, in case root restores it."""
    with suppress(FileNotFoundError):
        old = database.stat()
        part.chmod(old.st_mode & 0o777)
        if os.geteuid() == 0:
            os.chown(part, old.st_uid, old.st_gid)


def _keep_aside(database: Path) -> Path | None:
    """Rename the old database, with its log if that could not be applied."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = database.with_name(f"{database.stem}.replaced-{now}{database.suffix}")
    for ending in ("", "-wal"):
        try:
            os.link(f"{database}{ending}", f"{aside}{ending}")
        except FileNotFoundError:
            continue
        except OSError:  # this file system has no links
            Path(f"{database}{ending}").rename(f"{aside}{ending}")
    # Otherwise the old log would be applied to the new database.
    for ending in DATABASE_ENDINGS[1:]:
        Path(f"{database}{ending}").unlink(missing_ok=True)
    return aside if aside.exists() else None
