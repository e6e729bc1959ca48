"""Records in SQLite: batched gets, and pages of keys."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import apsw
import msgspec

from vskill_platform.base.clock import Clock
from vskill_platform.engines.check_operations import check_keys, check_limit, check_text
from vskill_platform.engines.cursors import end_of_prefix, split_due, split_due_cursor
from vskill_platform.engines.ports import Entry, KeyPage
from vskill_platform.engines.sqlite.connection import SQL
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import InvalidInput

#: In SQLite, every blob sorts after every text, so this sorts after all keys.
_END_OF_ALL_KEYS = b""


class SqliteKeyValueStore:
    def __init__(self, readers: SqliteReaders, clock: Clock) -> None:
        self._readers = readers
        self._clock = clock

    def get(self, key: str) -> asyncio.Future[Entry | None]:
        return self._readers.get(key)

    def get_many(self, keys: Sequence[str]) -> asyncio.Future[list[Entry | None]]:
        return self._readers.get_many(keys)

    def list_keys(
        self,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 1000,
        due_before: datetime | None = None,
        newest_first: bool = False,
    ) -> Awaitable[KeyPage]:
        try:
            check_limit(limit)
            check_text(prefix + (after or ""))
        except InvalidInput as error:
            return self._readers.refuse(error)
        if due_before is not None:
            return self._list_due(prefix, after, limit, to_micros(due_before))
        first, end = _range(prefix, after, newest_first=newest_first)
        query = "list_newest_first" if newest_first else "list"
        bindings = {"first": first, "end": end, "now": self._now(), "limit": limit + 1}
        return self._readers.read(partial(_read_page, query, bindings, limit))

    def find_marked(
        self, words: Sequence[str], *, limit: int = 1000, last_first: bool = False
    ) -> Awaitable[list[list[str]]]:
        try:
            check_limit(limit)
            check_keys(words)
        except InvalidInput as error:
            return self._readers.refuse(error)
        query = "find_marked_last_first" if last_first else "find_marked"
        bindings = {"now": self._now(), "limit": limit}
        return self._readers.read(partial(_find_marked, query, tuple(words), bindings))

    async def _list_due(
        self, prefix: str, after: str | None, limit: int, due_before: int
    ) -> KeyPage:
        """Return the undated keys, then the overdue ones; the cursor contains part and position."""
        part, position = split_due_cursor(after)
        keys: list[str] = []
        if part == "undated":
            first, end = _range(prefix, position or None, newest_first=False)
            rows = await self._readers.rows(
                "list_undated", first=first, end=end, now=self._now(), limit=limit + 1
            )
            keys = [key for (key,) in rows[:limit]]
            if len(rows) > limit:
                return KeyPage(keys, f"undated {keys[-1]}")
            part, position = "due", ""
        after_due, after_key_ = split_due(position)
        room = limit - len(keys)
        rows = await self._readers.rows(
            "list_due", first=prefix, end=_end(prefix), due_before=due_before,
            after_due=after_due, after=after_key_, now=self._now(), limit=room + 1,
        )  # fmt: skip
        keys += [key for _, key in rows[:room]]
        if len(rows) <= room:
            return KeyPage(keys, None)
        last = f"{rows[room - 1][0]} {rows[room - 1][1]}" if room else position
        return KeyPage(keys, f"due {last}")

    def _now(self) -> int:
        return to_micros(self._clock.now())


def _read_page(
    query: str, bindings: dict[str, Any], limit: int, connection: apsw.Connection
) -> KeyPage:
    # Not fetchall(): ten thousand rows at once burden the garbage collector.
    keys = [key for (key,) in connection.execute(SQL[query], bindings)]
    return KeyPage(keys[:limit], keys[limit - 1] if len(keys) > limit else None)


def _find_marked(
    query: str, words: tuple[str, ...], bindings: dict[str, Any], connection: apsw.Connection
) -> list[list[str]]:
    if not words:
        return []
    bindings = {**bindings, "words": apsw.carray(words)}
    ((found,),) = connection.execute(SQL[query], bindings)
    keys: list[list[str]] = msgspec.json.decode(found)
    return keys


def _end(prefix: str) -> str | bytes:
    return end_of_prefix(prefix) or _END_OF_ALL_KEYS


def _range(prefix: str, after: str | None, *, newest_first: bool) -> tuple[str, str | bytes]:
    """Return the range of keys with *prefix* that come after *after*."""
    if after is None:
        return prefix, _end(prefix)
    if newest_first:
        return prefix, min(after, end_of_prefix(prefix) or after)
    return max(prefix, after_key(after)), _end(prefix)


def after_key(key: str) -> str:
    """Return the first key that could follow *key*."""
    return key + "\0"
