"""The change feed: all changes, in commit order."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import apsw

from vskill_platform.engines.ports import ChangesPage, RecordChange
from vskill_platform.engines.sqlite.connection import SQL, snapshot
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.engines.wakeup import Wakeup
from vskill_platform.errors import FeedTrimmed, HistoryChanged

_PAGE = 1000


async def follow_changes(
    readers: SqliteReaders, wakeup: Wakeup, after: int, prefixes: Sequence[str]
) -> AsyncIterator[RecordChange]:
    checkpoint = ""
    while True:
        ticket = wakeup.ticket()
        page = await read_changes(readers, after, checkpoint, prefixes)
        for change in page.changes:
            yield change
        if page.through >= after:
            after, checkpoint = page.through, page.checkpoint
        if page.is_last and not page.changes:
            await wakeup.wait(ticket)


async def read_changes(
    readers: SqliteReaders, after: int, checkpoint: str, prefixes: Sequence[str]
) -> ChangesPage:
    rows, through, is_last, reached = await readers.read(
        partial(_read_page, after=after, checkpoint=checkpoint)
    )
    if prefixes:
        wanted = tuple(prefixes)
        rows = [row for row in rows if row[1].startswith(wanted)]
    changes = [
        RecordChange(revision, tuple(key for _, key in group))
        for revision, group in groupby(rows, key=lambda row: row[0])
    ]
    return ChangesPage(changes, through, is_last, reached)


def _read_page(
    connection: apsw.Connection, *, after: int, checkpoint: str
) -> tuple[list[Any], int, bool, str]:
    """Return the changed keys of whole commits only, so that no commit is read in part."""
    with snapshot(connection):
        state: list[Any] = connection.execute(SQL["read_state"]).fetchall()
        ((revision, _, trimmed_through, _, _),) = state
        if checkpoint and checkpoint != _checkpoint(connection, after):
            raise HistoryChanged(
                f"the database is not the one that was read up to revision {after}: it was "
                "restored or replaced; read everything again"
            )
        if after < trimmed_through:
            raise FeedTrimmed(
                f"the change feed begins behind revision {trimmed_through}, not at {after}: "
                "read everything again and follow it from there"
            )
        rows, through = _read_rows(connection, after, revision)
        return rows, through, through == revision, _checkpoint(connection, through)


def _read_rows(
    connection: apsw.Connection, after: int, newest: int
) -> tuple[list[tuple[int, str]], int]:
    """Return a page of (revision, key), and the revision up to which it is complete."""
    page = {"after": after, "limit": _PAGE}
    rows: list[Any] = connection.execute(SQL["changes"], page).fetchall()
    if len(rows) < _PAGE:
        return rows, newest
    last = rows[-1][0]
    whole = [row for row in rows if row[0] < last]
    rest: list[Any] = connection.execute(SQL["changes_at"], {"revision": last}).fetchall()
    return whole + rest, last


def _checkpoint(connection: apsw.Connection, revision: int) -> str:
    rows: list[Any] = connection.execute(SQL["read_checkpoint"], {"revision": revision}).fetchall()
    ((history_id, mark),) = rows
    return f"{history_id}:{'none' if mark is None else mark}"
