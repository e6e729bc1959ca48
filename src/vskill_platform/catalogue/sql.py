"""Load the named SQL queries of the search index, with helpers to run them."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sql_file import load_queries
from vskill_platform.errors import EngineError

log = get_logger(__name__)

#: More than the logarithm of any number of records.
_ID_BITS = 60

_PACKAGE = "vskill_platform.catalogue"

WRITE = load_queries(_PACKAGE, "write.sql")
SEARCH = load_queries(_PACKAGE, "search.sql")
LISTS = load_queries(_PACKAGE, "lists.sql")
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


def submission_key(submission_id: str) -> int:
    """Return a number for an id, to save space in rows that refer to a submission."""
    digest = hashlib.blake2b(submission_id.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def ids_near(preferred: int, name: str) -> Iterator[int]:
    """Yield the preferred id of a record, then others that follow it, always the same ones.

    Each is chosen from twice as many as the one before, so that a free one is found after a few
    attempts, also if thousands of records prefer the same id.
    """
    yield preferred
    for width in range(_ID_BITS):
        digest = hashlib.blake2b(f"{width}:{name}".encode(errors="replace"), digest_size=8).digest()
        yield preferred + 1 + int.from_bytes(digest) % (1 << width)
    raise EngineError(f"there is no free id for {name}")


def one_row(connection: apsw.Connection, query: str, **bindings: Any) -> Any:
    """Return the first row of a query of write.sql, or None."""
    rows: list[Any] = connection.execute(WRITE[query], bindings).fetchall()
    return rows[0] if rows else None


def one_value(connection: apsw.Connection, query: str, bindings: dict[str, Any]) -> Any:
    """Return the single value of an aggregate query.

    One row means one step: after each step the thread waits for the GIL, often longer than SQLite
    takes for the query.
    """
    (value,) = next(connection.execute(query, bindings))
    return value
