"""A database file as the first start leaves it, without the time that its migrations take."""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from vskill_platform.engines.sqlite.connection import MIGRATIONS, migrate, open_connection

#: Random in each database; two copies must not look like the same one.
_OWN_VALUES = """
UPDATE state SET history_id = lower(hex(randomblob(16)));
UPDATE commit_mark SET mark = random();
"""


def write_empty_database(path: Path) -> None:
    path.touch(mode=0o600)
    path.write_bytes(_migrated())
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {_OWN_VALUES} COMMIT;")


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "skills.db"
        with closing(open_connection(path)) as connection:
            migrate(connection, path, MIGRATIONS)
        return path.read_bytes()
