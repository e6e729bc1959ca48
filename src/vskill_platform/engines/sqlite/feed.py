"""The change feed: what was committed, in commit order."""

from collections.abc import AsyncIterator
from functools import partial
from itertools import groupby
from typing import Any

import apsw

from vskill_platform.engines.doorbell import Doorbell
from vskill_platform.engines.ports import Change, ChangesPage
from vskill_platform.engines.sqlite.connection import SQL, snapshot
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.errors import FeedTrimmed

_PAGE = 1000


async def follow_changes(
    readers: SqliteReaders, doorbell: Doorbell, after: int
) -> AsyncIterator[Change]:
    while True:
        ticket = doorbell.ticket()
        page = await read_changes(readers, after)
        for change in page.changes:
            yield change
            after = change.revision
        if not page.changes:
            await doorbell.wait(ticket)


async def read_changes(readers: SqliteReaders, after: int) -> ChangesPage:
    rows, through, is_last = await readers.read(partial(_read_page, after=after))
    changes = [
        Change(revision, tuple(key for _, key in group))
        for revision, group in groupby(rows, key=lambda row: row[0])
    ]
    return ChangesPage(changes, through, is_last)


def _read_page(connection: apsw.Connection, *, after: int) -> tuple[list[Any], int, bool]:
    """Return changed keys of whole commits only: a commit cut in two could be half forgotten."""
    with snapshot(connection):
        state: list[Any] = connection.execute(SQL["read_state"]).fetchall()
        ((revision, _, trimmed_through, _, _),) = state
        if after < trimmed_through:
            raise FeedTrimmed(
                f"the change feed begins behind revision {trimmed_through}, not at {after}: "
                "read everything anew and follow it from there"
            )
        page = {"after": after, "limit": _PAGE}
        rows: list[Any] = connection.execute(SQL["changes"], page).fetchall()
        if len(rows) < _PAGE:
            return rows, revision, True
        last = rows[-1][0]
        whole = [row for row in rows if row[0] < last]
        rest: list[Any] = connection.execute(SQL["changes_at"], {"revision": last}).fetchall()
        return whole + rest, last, False
