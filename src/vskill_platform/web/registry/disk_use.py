"""The space on the disks that this node writes to, for the dashboard and the metrics."""

import shutil
from pathlib import Path

import msgspec

from vskill_platform.engines.open_engine import database_file
from vskill_platform.settings import Settings

#: The files of a SQLite database: the file, and its write-ahead log.
_ENDINGS = ("", "-wal")


class Disk(msgspec.Struct, frozen=True):
    #: database or cache
    of: str
    free: int
    total: int


def measure_disks(settings: Settings) -> list[Disk]:
    """Return the disk of the database, if it is a file, and of the cache, if there is a folder."""
    database = database_file(settings.database_url)
    folders = {
        "database": database.parent if database else None,
        "cache": Path(settings.cache_dir) if settings.cache_dir else None,
    }
    return [disk for of, folder in folders.items() if folder and (disk := _measure(of, folder))]


def measure_database(settings: Settings) -> int | None:
    """Return the size of the database in bytes; None if it is not a file."""
    database = database_file(settings.database_url)
    if database is None:
        return None
    files = [database.with_name(f"{database.name}{ending}") for ending in _ENDINGS]
    return sum(path.stat().st_size for path in files if path.exists())


def _measure(of: str, folder: Path) -> Disk | None:
    try:
        found = shutil.disk_usage(folder)
    except OSError:  # the folder is missing; /readyz reports that
        return None
    return Disk(of, found.free, found.total)
