"""Load the named SQL queries of the search index, with helpers to run them."""

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import apsw
import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sql_file import load_queries
from vskill_platform.errors import EngineError

log = get_logger(__name__)
_encode = msgspec.json.Encoder().encode

#: Cache size; the rows of a submission and of its events refer to its key.
_REMEMBERED = 20_000
#: How many ids are tried: more than the logarithm of any number of records.
_ID_BITS = 60

_PACKAGE = "vskill_platform.catalogue"

WRITE = load_queries(_PACKAGE, "write.sql")
SEARCH = load_queries(_PACKAGE, "search.sql")
LISTS = load_queries(_PACKAGE, "lists.sql")
NEXT_PAGE = load_queries(_PACKAGE, "next_page.sql")
#: The same queries for parts of names instead of words.
SEARCH_PARTS = {name: query.replace("skill_text", "skill_part") for name, query in SEARCH.items()}

#: Errors raised for a record that cannot be converted to a row.
_MALFORMED = (ArithmeticError, LookupError, TypeError, ValueError)


class Attempt(msgspec.Struct):
    has_failed: bool = False


@contextmanager
def skipped_if_malformed(**which: Any) -> Iterator[Attempt]:
    """Write one record; if it cannot be converted to a row, log and skip only this one."""
    attempt = Attempt()
    try:
        yield attempt
    except _MALFORMED as error:
        attempt.has_failed = True
        log.warning("record not indexed", **which, error=str(error))


@lru_cache(_REMEMBERED)
def submission_key(submission_id: str) -> int:
    """Return a number for an id, to save space in rows that refer to a submission."""
    digest = hashlib.blake2b(submission_id.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def ids_near(preferred: int, name: str) -> Iterator[int]:
    """Yield the preferred id of a record, then ids after it, always the same ones.

    Each is chosen from a range twice as large as the one before. So a free id is found after a few
    attempts, even if thousands of records prefer the same id.
    """
    yield preferred
    for width in range(_ID_BITS):
        digest = hashlib.blake2b(f"{width}:{name}".encode(errors="replace"), digest_size=8).digest()
        yield preferred + 1 + int.from_bytes(digest) % (1 << width)
    raise EngineError(f"there is no free id for {name}")


class Rows:
    """Maps records to their rows in a table: read for many at once, and updated as they change.

    The rows are written at the end, so the table must not be queried about them before.
    """

    def __init__(
        self, connection: apsw.Connection, table: str, names: Collection[str], ids: Collection[int]
    ) -> None:
        """Read the rows of records by *names*, and the rows with one of *ids*."""
        self._connection, self._table = connection, table
        self._known: dict[str, tuple[int, bytes]] = {}
        for name, row_id, digest in self._read("rows_of", list(names)):
            self._known[name] = (row_id, digest)
        self._at: dict[int, str | None] = dict.fromkeys(ids)
        self._at |= dict(self._read("rows_at", list(ids)))

    def find(self, name: str) -> tuple[int, bytes] | None:
        """Return the id and the digest of a record's row, if there is one."""
        return self._known.get(name)

    def put(self, name: str, row_id: int, digest: bytes) -> None:
        self._known[name] = (row_id, digest)
        self._at[row_id] = name

    def remove(self, name: str) -> None:
        row_id, _ = self._known.pop(name)
        self._at[row_id] = None

    def free_id(self, preferred: int, name: str) -> int:
        """Return the preferred id, or a free one near it if another record has it."""
        return next(one for one in ids_near(preferred, name) if self.name_at(one) in {None, name})

    def name_at(self, row_id: int) -> str | None:
        if row_id not in self._at:
            self._at[row_id] = next((name for _, name in self._read("rows_at", [row_id])), None)
        return self._at[row_id]

    def _read(self, query: str, wanted: list[Any]) -> list[Any]:
        filled = WRITE[f"{self._table}_{query}"]
        return self._connection.execute(filled, {"wanted": _encode(wanted).decode()}).fetchall()


def one_row(connection: apsw.Connection, query: str, **bindings: Any) -> Any:
    """Return the first row of a query of write.sql, or None."""
    rows: list[Any] = connection.execute(WRITE[query], bindings).fetchall()
    return rows[0] if rows else None


def one_value(connection: apsw.Connection, query: str, bindings: dict[str, Any]) -> Any:
    """Return the single value of an aggregate query.

    One row means one step. After each step the thread waits for the GIL, often longer than SQLite
    takes for the query.
    """
    (value,) = next(connection.execute(query, bindings))
    return value
