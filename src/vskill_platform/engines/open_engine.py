"""Open the engine for a database URL; drivers are only imported here."""

import asyncio
import glob
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from vskill_platform.base.clock import Clock, SystemClock
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.blob_settings import IN_DATABASE, BlobOptions
from vskill_platform.engines.blobs.open_blobs import open_blobs
from vskill_platform.engines.copy_database import Copied, OnCopied, copy_export, first_mark
from vskill_platform.engines.export_file import (
    ExportFile,
    inspect_export,
    is_export,
    write_export,
)
from vskill_platform.engines.exported import Contents, Export
from vskill_platform.engines.part_file import os_errors_translated, put_in_place, write_part
from vskill_platform.engines.ports import Engine
from vskill_platform.engines.server_options import DEFAULT_OPTIONS, ServerOptions
from vskill_platform.engines.sqlite import backup
from vskill_platform.engines.sqlite.connection import UNWRITABLE, errors_translated
from vskill_platform.engines.sqlite.engine import SqliteEngine
from vskill_platform.engines.sqlite.seal import check_if_backup, has_seal
from vskill_platform.errors import ConfigError

log = get_logger(__name__)

_SQLITE = "sqlite:///"
#: A backup of a PostgreSQL registry.
_FILE = "file://"
_POSTGRES = ("postgresql://", "postgres://")
#: Suffix of a search index next to the database, before its number.
INDEX = ".catalogue"


async def open_engine(
    url: str,
    *,
    clock: Clock | None = None,
    create: bool = True,
    check_for: timedelta = timedelta(0),
    options: ServerOptions = DEFAULT_OPTIONS,
    blobs: BlobOptions = IN_DATABASE,
) -> Engine:
    """Open the database at *url*; without *create* it must exist.

    A damaged database is refused; *check_for* limits the time of the integrity check at the start.
    *blobs* decides where new blobs are stored.
    """
    external = open_blobs(blobs)
    engine: Engine
    if is_postgres(url):
        engine = await _open_postgres(url, clock=clock, create=create, options=options)
    else:
        path = _path(url)
        _check_path(path, create=create)
        with errors_translated(path):
            engine = SqliteEngine(path, clock or SystemClock(), check_for=check_for)
    engine.blobs.use(external)
    return engine


async def open_engine_to_read(
    url: str,
    *,
    clock: Clock | None = None,
    options: ServerOptions = DEFAULT_OPTIONS,
    blobs: BlobOptions = IN_DATABASE,
) -> Engine:
    """Open the database at *url* read-only, for commands that neither create nor migrate it.

    This works on a full disk, and with files and folders that cannot be written.
    """
    external = open_blobs(blobs)
    engine = await _open_to_read(url, clock=clock, options=options)
    engine.blobs.use(external)
    return engine


async def _open_to_read(url: str, *, clock: Clock | None, options: ServerOptions) -> Engine:
    if is_postgres(url):
        return await _open_postgres(url, clock=clock, create=False, migrate=False, options=options)
    path, clock = _path(url), clock or SystemClock()
    _check_folder(path)
    if not path.exists() or path.stat().st_size == 0:
        _refuse_to_begin_again(path)
    _check_exists(path)
    with errors_translated(path):
        if os.access(path, os.W_OK):
            try:
                return SqliteEngine(path, clock, migrates=False)
            except UNWRITABLE:  # SQLite could not create or write its other files
                log.info("database is opened read-only", path=str(path))
        return SqliteEngine(path, clock, migrates=False, read_only=True)


def is_postgres(url: str) -> bool:
    return url.startswith(_POSTGRES)


async def _open_postgres(
    url: str, *, clock: Clock | None, create: bool, migrate: bool = True, options: ServerOptions
) -> Engine:
    # A registry in a file needs no driver for a server.
    from vskill_platform.engines.postgres.engine import open_postgres  # noqa: PLC0415 - loaded only when it is needed

    return await open_postgres(url, clock=clock, create=create, migrate=migrate, options=options)


def back_up_database(url: str, target: Path, *, replace: bool) -> Contents:
    """Copy the database at *url* to a file while it is in use; return the counts of the copy."""
    _check_folder(target)
    if is_postgres(url):
        return asyncio.run(_export_to_file(url, target, replace=replace))
    path = _path(url)
    _check_path(path, create=False)
    return backup.back_up(path.resolve(), target, replace=replace)


async def _export_to_file(url: str, target: Path, *, replace: bool) -> Contents:
    async with _open_export(url) as export:
        return await write_export(export, target, replace=replace)


def inspect_backup(source: Path) -> Contents:
    """Verify a backup; return its counts."""
    return inspect_export(source) if is_export(source) else backup.inspect_backup(source)


def has_digest(source: Path) -> bool:
    """Return whether a backup has a digest of all its bytes; older releases wrote some without."""
    return is_export(source) or has_seal(source)


def restore_database(url: str, source: Path, *, on_progress: OnCopied) -> Path | str | None:
    """Replace the database with a backup; return where the old one is kept, if any."""
    if is_postgres(url):
        return asyncio.run(_restore_postgres(url, source, on_progress=on_progress))
    if is_export(source):
        raise ConfigError(
            f"{source}: this is a backup of a PostgreSQL registry. To load it into a new file, use "
            f"`vskill-platform admin copy --from file://{source.absolute()} --to sqlite:///new.db`."
        )
    path = _path(url).resolve()
    _check_folder(path)
    return backup.restore(path, source)


async def _restore_postgres(url: str, source: Path, *, on_progress: OnCopied) -> str | None:
    from vskill_platform.engines.postgres.replace_schema import set_aside  # noqa: PLC0415 - loaded only when it is needed

    export = ExportFile(source)
    inspect_export(source)  # before anything is changed
    kept = await set_aside(url, export)
    engine = await open_engine(url)
    try:
        await copy_export(export, engine, on_progress=on_progress)
    finally:
        await engine.close()
    return kept


async def copy_database(source: str, target: str, *, on_progress: OnCopied) -> Copied:
    """Copy everything from one URL to another; a `file:` URL names a backup."""
    async with _open_export(source) as export:
        await _begin_copy(export, target)
        engine = await open_engine(target)
        try:
            return await copy_export(export, engine, on_progress=on_progress)
        finally:
            await engine.close()


async def _begin_copy(export: Export, target: str) -> None:
    """Create the target with the mark of an unfinished copy, at once.

    Otherwise a copy that is killed here would leave an empty database, which a server would serve.
    """
    if is_postgres(target):
        from vskill_platform.engines.postgres.replace_schema import begin_schema  # noqa: PLC0415 - loaded only when it is needed

        await begin_schema(target, export)
    elif not _path(target).exists():
        await _begin_file(export, _path(target))


async def _begin_file(export: Export, target: Path) -> None:
    _check_path(target, create=True)
    with write_part(target) as part:
        engine = await open_engine(f"{_SQLITE}{part}")
        try:
            await engine.load([first_mark(export)])
        finally:
            await engine.close()
        put_in_place(part, target, replace=False)


@asynccontextmanager
async def _open_export(url: str) -> AsyncIterator[Export]:
    if url.startswith(_FILE):
        path = Path(url.removeprefix(_FILE))
        await work_in_thread(inspect_export, path)
        yield ExportFile(path)
        return
    if url.startswith(_SQLITE) and _path(url).is_file():
        with os_errors_translated(_path(url)):
            await work_in_thread(check_if_backup, _path(url))
    engine = await open_engine_to_read(url)
    try:
        async with engine.export() as export:
            yield export
    finally:
        await engine.close()


def database_file(url: str) -> Path | None:
    """Return the real file of *url*, links resolved; None if the database is not a file.

    Files that belong to the database are next to this file, whatever name it was opened by.
    """
    return _path(url).resolve() if url.startswith(_SQLITE) else None


def _path(url: str) -> Path:
    if not url.startswith(_SQLITE):
        scheme = urlsplit(url).scheme or url
        raise ConfigError(
            f"no engine for {scheme!r}: the database URL is like sqlite:///skills.db "
            "or postgresql://user@host/database"
        )
    return Path(url.removeprefix(_SQLITE))


def _check_folder(path: Path) -> None:
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: the folder {path.parent} does not exist; make it first")


def _check_path(path: Path, *, create: bool) -> None:
    _check_folder(path)
    # Checked before opening: SQLite would leave files behind that cannot be written either.
    if path.exists() and not os.access(path, os.W_OK):
        raise ConfigError(f"{path}: the file cannot be written; check its owner and permissions")
    if not path.exists() or path.stat().st_size == 0:
        _refuse_to_begin_again(path)
    if not create:
        _check_exists(path)


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise ConfigError(
            f"{path}: there is no database yet. Start one with `vskill-platform serve`, or name "
            "the right one in VSKILL_DATABASE_URL."
        )


def _refuse_to_begin_again(path: Path) -> None:
    """Refuse to create a database in place of a lost one, so that the loss is noticed."""
    path = path.resolve()
    left = sorted(file.name for file in path.parent.glob(f"{glob.escape(path.name)}{INDEX}-*"))
    of_sqlite = [name for end in ("-wal", "-shm") if Path(name := f"{path}{end}").exists()]
    # Checked last: a process that is creating the database creates this file before the others.
    if not path.exists():
        left += of_sqlite
    elif path.stat().st_size > 0:
        return
    if left:
        raise ConfigError(
            f"{path}: the database is missing or empty, but there was one: {left[0]} is still "
            "here. Put it back, or restore a backup with `vskill-platform restore`. To begin with "
            f"an empty database, delete {path.name}* first."
        )
