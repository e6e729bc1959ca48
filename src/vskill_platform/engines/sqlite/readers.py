"""Read connections; concurrent reads are batched.

All gets become one query. Each listing is a query of its own, but joins the batch, because the way
to a thread and back takes longer than most queries.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from vskill_platform.base.clock import Clock
from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.check_operations import check_key, check_keys
from vskill_platform.engines.ports import Entry
from vskill_platform.engines.sqlite.connection import SQL, open_connection
from vskill_platform.engines.sqlite.file_watch import FileWatch
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import InvalidInput, VskillError

Result = TypeVar("Result")
Read = Callable[[apsw.Connection], Any]
#: More threads would only wait for each other on the interpreter's lock.
READERS = 3
#: The maximum number of gets in one query.
MAX_GETS = 1024


class SqliteReaders:
    def __init__(
        self, path: Path, clock: Clock, watch: FileWatch, *, read_only: bool = False
    ) -> None:
        self._clock = clock
        self._watch = watch
        self._threads = ConnectionThreads(
            [open_connection(path, read_only=read_only) for _ in range(READERS)],
            name="sqlite-reader",
        )
        self._reads: Batcher[str | Read, Any] = Batcher(
            self._run_group, max_batch=MAX_GETS, at_once=READERS
        )

    def get(self, key: str) -> asyncio.Future[Entry | None]:
        # Returns the batcher's future without a coroutine around it, because there are very many.
        try:
            check_key(key)
        except InvalidInput as error:
            return self.refuse(error)
        return self._reads.submit(key)

    def get_many(self, keys: Sequence[str]) -> asyncio.Future[list[Entry | None]]:
        try:
            check_keys(keys)
        except InvalidInput as error:
            return self.refuse(error)
        return self.read(partial(_get_many, tuple(keys), to_micros(self._clock.now())))

    def refuse(self, error: InvalidInput) -> asyncio.Future[Any]:
        return self._reads.refuse(error)

    def read(self, work: Callable[[apsw.Connection], Result]) -> asyncio.Future[Result]:
        return self._reads.submit(work)

    def rows(self, query: str, **bindings: Any) -> asyncio.Future[list[Any]]:
        """Return all rows of the named query."""
        return self.read(lambda connection: connection.execute(SQL[query], bindings).fetchall())

    async def close(self) -> None:
        await self._reads.drain()
        self._threads.close(before_closing=self._watch.leave_files_alone)

    def _run_group(self, group: Sequence[str | Read]) -> asyncio.Future[list[Any]]:
        now = to_micros(self._clock.now())
        return self._threads.run(partial(self._read_group, group, now))

    def _read_group(
        self, group: Sequence[str | Read], now: int, connection: apsw.Connection
    ) -> list[Any]:
        """Return each caller's rows, or its error."""
        self._watch.raise_problem()
        keys = tuple([wanted for wanted in group if isinstance(wanted, str)])
        entries = self._try(partial(_get_many, keys, now), connection) if keys else []
        if isinstance(entries, Exception):
            entries = [entries] * len(keys)
        if len(keys) == len(group):
            return entries
        found = iter(entries)
        return [
            next(found) if isinstance(wanted, str) else self._try(wanted, connection)
            for wanted in group
        ]

    def _try(self, read: Read, connection: apsw.Connection) -> Any:
        try:
            return read(connection)
        except apsw.Error as error:
            return self._watch.report(error)
        except VskillError as error:
            return error


def _get_many(keys: tuple[str, ...], now: int, connection: apsw.Connection) -> list[Entry | None]:
    if not keys:
        return []
    rows = connection.execute(SQL["get_many"], {"keys": apsw.carray(keys), "now": now})
    return [None if value is None else Entry(value, revision) for value, revision in rows]
