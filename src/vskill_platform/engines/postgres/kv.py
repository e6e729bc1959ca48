"""Records in PostgreSQL: batched gets, and pages of keys."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.check_operations import check_key, check_keys, check_limit, check_text
from vskill_platform.engines.cursors import (
    end_of_prefix,
    split_due,
    split_due_cursor,
)
from vskill_platform.engines.ports import Entry, KeyPage
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import InvalidInput

Result = TypeVar("Result")

#: The maximum number of gets in one query.
MAX_GETS = 1024
GETS_AT_ONCE = 3
#: Sorts after every key, because keys have at most 1,024 bytes.
_END_OF_ALL_KEYS = "\U0010ffff" * 257


class PostgresKeyValueStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._gets: Batcher[str, Entry | None] = Batcher(
            self._get_together, max_batch=MAX_GETS, at_once=GETS_AT_ONCE
        )

    def get(self, key: str) -> asyncio.Future[Entry | None]:
        try:
            check_key(key)
        except InvalidInput as error:
            return self._gets.refuse(error)
        return self._gets.submit(key)

    async def get_many(self, keys: Sequence[str]) -> list[Entry | None]:
        check_keys(keys)
        return await self._get_together(keys) if keys else []

    async def _get_together(self, keys: Sequence[str]) -> list[Entry | None]:
        rows = await self._database.rows("get_many", list(keys), self._database.test_now())
        return [None if value is None else Entry(value, revision) for value, revision in rows]

    def list_keys(
        self,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 1000,
        due_before: datetime | None = None,
        newest_first: bool = False,
    ) -> Awaitable[KeyPage]:
        if due_before is not None:
            return self._list_due(prefix, after, limit, to_micros(due_before))
        return self._list(prefix, after, limit, newest_first=newest_first)

    async def find_marked(
        self, words: Sequence[str], *, limit: int = 1000, last_first: bool = False
    ) -> list[list[str]]:
        check_limit(limit)
        check_keys(words)
        if not words:
            return []
        query = "find_marked_last_first" if last_first else "find_marked"
        now = self._database.test_now()
        return [keys for (keys,) in await self._database.rows(query, list(words), now, limit)]

    async def close(self) -> None:
        await self._gets.drain()

    async def _list(
        self, prefix: str, after: str | None, limit: int, *, newest_first: bool
    ) -> KeyPage:
        check_limit(limit)
        check_text(prefix + (after or ""))
        first_after, end = "", end_of_prefix(prefix) or _END_OF_ALL_KEYS
        if after is not None and newest_first:
            end = min(after, end)
        elif after is not None:
            first_after = after
        rows = await self._rows(
            "list_newest_first" if newest_first else "list", prefix, first_after, end, limit + 1
        )
        keys = [key for (key,) in rows]
        return KeyPage(keys[:limit], keys[limit - 1] if len(keys) > limit else None)

    async def _list_due(
        self, prefix: str, after: str | None, limit: int, due_before: int
    ) -> KeyPage:
        """Return the undated keys, then the overdue ones; the cursor contains part and position."""
        check_limit(limit)
        check_text(prefix + (after or ""))
        part, position = split_due_cursor(after)
        keys: list[str] = []
        end = end_of_prefix(prefix) or _END_OF_ALL_KEYS
        if part == "undated":
            rows = await self._rows("list_undated", prefix, position, end, limit + 1)
            keys = [key for (key,) in rows[:limit]]
            if len(rows) > limit:
                return KeyPage(keys, f"undated {keys[-1]}")
            position = ""
        after_due, after_key = split_due(position)
        room = limit - len(keys)
        rows = await self._database.rows(
            "list_due", due_before, after_due, after_key, prefix, end, self._database.test_now(),
            room + 1,
        )  # fmt: skip
        keys += [key for _, key in rows[:room]]
        if len(rows) <= room:
            return KeyPage(keys, None)
        last = f"{rows[room - 1][0]} {rows[room - 1][1]}" if room else position
        return KeyPage(keys, f"due {last}")

    async def _rows(self, query: str, first: str, after: str, end: str, limit: int) -> list[Any]:
        now = self._database.test_now()
        return await self._database.rows(query, first, after, end, now, limit)
