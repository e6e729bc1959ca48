"""Return the space of deleted records to the disk."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw

from vskill_platform.engines.ports import Compacted
from vskill_platform.engines.sqlite.checkpoint import empty_log
from vskill_platform.engines.sqlite.connection import BUSY_TIMEOUT_MS, log_size
from vskill_platform.errors import ConfigError

#: How long the last step waits for readers of old pages; other readers continue meanwhile.
_WAIT_MS = 1000


def vacuum(path: Path) -> Compacted:
    """Rewrite the database, through its log, without unused pages."""
    before = _size(path)
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _check_space(connection, path)
        # The temporary copy is placed on the disk of the database, whose free space was checked.
        connection.execute("PRAGMA temp_store = FILE")
        folder = str(path.resolve().parent).replace("'", "''")
        connection.execute(f"PRAGMA temp_store_directory = '{folder}'")
        connection.execute("VACUUM")
    empty_log(path, wait_ms=_WAIT_MS)
    return Compacted(before_bytes=before, after_bytes=_size(path))


def _check_space(connection: apsw.Connection, path: Path) -> None:
    pages = int(connection.pragma("page_count")) - int(connection.pragma("freelist_count"))
    needed = 2 * pages * int(connection.pragma("page_size"))  # the copy, and the log
    free = shutil.disk_usage(path.resolve().parent).free
    if free < needed:
        raise ConfigError(
            f"{path}: needs {needed:,} bytes on this disk temporarily, {free:,} are free; "
            "nothing was changed"
        )


def _size(path: Path) -> int:
    """Return the size of the database and its log."""
    return path.stat().st_size + log_size(path)
