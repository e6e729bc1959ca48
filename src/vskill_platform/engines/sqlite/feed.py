"""The change feed: what was committed, in commit order."""

from collections.abc import AsyncIterator
from functools import partial
from itertools import groupby
from typing import Any

import apsw

from vskill_platform.engines.doorbell import Doorbell
from vskill_platform.engines.ports import Change
from vskill_platform.engines.sqlite.connection import SQL, snapshot
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.errors import FeedTrimmed

_PAGE = 1000


async def follow_changes(
    readers: SqliteReaders, doorbell: Doorbell, after: int
) -> AsyncIterator[Change]:
    while True:
        ticket = doorbell.ticket()
        rows = await readers.read(partial(_read_page, after=after))
        for revision, group in groupby(rows, key=lambda row: row[0]):
            yield Change(revision, tuple(key for _, key in group))
            after = revision
        if not rows:
            await doorbell.wait(ticket)


def _read_page(connection: apsw.Connection, *, after: int) -> list[Any]:
    """Return changed keys of whole commits only: a commit cut in two could be half forgotten."""
    with snapshot(connection):
        state: list[Any] = connection.execute(SQL["read_state"]).fetchall()
        ((_, _, trimmed_through, _, _),) = state
        if after < trimmed_through:
            raise FeedTrimmed(
                f"the change feed begins behind revision {trimmed_through}, not at {after}: "
                "read everything anew and follow it from there"
            )
        page = {"after": after, "limit": _PAGE}
        rows: list[Any] = connection.execute(SQL["changes"], page).fetchall()
        if len(rows) < _PAGE:
            return rows
        last = rows[-1][0]
        whole = [row for row in rows if row[0] < last]
        return whole + connection.execute(SQL["changes_at"], {"revision": last}).fetchall()
