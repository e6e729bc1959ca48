"""A small pool of read connections, each used by one thread at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import apsw

from vskill_platform.engines.sqlite.connection import SQL, errors_translated, open_connection

Result = TypeVar("Result")
#: More would only wait for each other on the interpreter lock.
READERS = 3


class SqliteReaders:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._connections: SimpleQueue[apsw.Connection] = SimpleQueue()
        for _ in range(READERS):
            self._connections.put(open_connection(path))

    async def read(self, work: Callable[[apsw.Connection], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._run, work)

    async def rows(self, query: str, **bindings: Any) -> list[Any]:
        """Return all rows of the named query."""
        return await self.read(
            lambda connection: connection.execute(SQL[query], bindings).fetchall()
        )

    def close(self) -> None:
        self._threads.shutdown()
        while not self._connections.empty():
            self._connections.get().close()

    def _run(self, work: Callable[[apsw.Connection], Result]) -> Result:
        connection = self._connections.get()
        try:
            with errors_translated(self._path):
                return work(connection)
        finally:
            self._connections.put(connection)
