"""The named SQL queries of the search index, and code shared by its writers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sql_file import load_queries

log = get_logger(__name__)

_PACKAGE = "vskill_platform.catalogue"

WRITE = load_queries(_PACKAGE, "write.sql")
SEARCH = load_queries(_PACKAGE, "search.sql")
LISTS = load_queries(_PACKAGE, "lists.sql")
#: The same queries, on parts of names instead of words.
SEARCH_PARTS = {name: query.replace("skill_text", "skill_part") for name, query in SEARCH.items()}

#: Python's errors for a record that cannot become a row.
_UNFIT = (ArithmeticError, LookupError, TypeError, ValueError)


class Attempt(msgspec.Struct):
    has_failed: bool = False


@contextmanager
def left_out_if_unfit(**which: Any) -> Iterator[Attempt]:
    """Write one record; if it cannot become a row, log that: only this record is missing."""
    attempt = Attempt()
    try:
        yield attempt
    except _UNFIT as error:
        attempt.has_failed = True
        log.warning("record not indexed", **which, error=str(error))


def one_row(connection: apsw.Connection, query: str, **bindings: Any) -> Any:
    """Return the first row of a query of write.sql, or None."""
    rows: list[Any] = connection.execute(WRITE[query], bindings).fetchall()
    return rows[0] if rows else None


def one_value(connection: apsw.Connection, query: str, bindings: dict[str, Any]) -> Any:
    """Return the single value of an aggregate query.

    A single step: between two steps a thread must get the interpreter lock back, and waits for it
    longer than SQLite takes for the result.
    """
    (value,) = next(connection.execute(query, bindings))
    return value
