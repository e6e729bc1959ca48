"""A database file as the first start leaves it, without the time that its migrations take."""

import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from secrets import token_bytes, token_hex

from vskill_platform.engines.sqlite.connection import MIGRATIONS, migrate, open_connection

#: In place of what is random in each database: two copies must not look like the same one.
_HISTORY_ID = "0123456789abcdef" * 2
_MARK = 0x0123_4567_89AB_CDEF


def write_empty_database(path: Path) -> None:
    path.touch(mode=0o600)
    content = _migrated().replace(_HISTORY_ID.encode(), token_hex(16).encode())
    path.write_bytes(content.replace(_MARK.to_bytes(8), token_bytes(8)))


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "skills.db"
        with closing(open_connection(path)) as connection:
            migrate(connection, path, MIGRATIONS)
            connection.execute("UPDATE state SET history_id = ?", (_HISTORY_ID,))
            connection.execute("UPDATE commit_mark SET mark = ?", (_MARK,))
        content = path.read_bytes()
    assert content.count(_HISTORY_ID.encode()) == content.count(_MARK.to_bytes(8)) == 1
    return content
