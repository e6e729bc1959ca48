"""The pool of one engine, its clock, and the last error of a write."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import asyncpg

from vskill_platform.base.clock import Clock
from vskill_platform.engines.postgres.connection import (
    CONNECT_SECONDS,
    ISOLATION,
    LOST,
    READ_ONLY,
    DatabaseLocation,
    NotConnected,
    PostgresConnection,
    errors_translated,
    not_connected,
    queries_for,
    translate,
)
from vskill_platform.engines.timestamps import from_micros, to_micros
from vskill_platform.errors import EngineError

#: The pause between two attempts to connect.
_RECONNECT_SECONDS = 0.2
#: How often the difference to the server's clock is measured again.
_MEASURE_EVERY = timedelta(seconds=30)


class ServerClock:
    """The clock of the database server, computed from a measured difference."""

    def __init__(self) -> None:
        self._server_micros = to_micros(datetime.now(UTC))
        self._at = monotonic()

    def now(self) -> datetime:
        passed = monotonic() - self._at
        return from_micros(self._server_micros + round(passed * 1_000_000))

    def set(self, server_micros: int, *, asked_at: float) -> None:
        """Set the server's time, which was read between *asked_at* and now."""
        self._at = (asked_at + monotonic()) / 2
        self._server_micros = server_micros


class Database:
    def __init__(
        self, place: DatabaseLocation, pool: "asyncpg.Pool[Any]", clock: Clock | None
    ) -> None:
        self.place = place
        self.sql = queries_for(place.schema)
        self._pool = pool
        self._given = clock
        self._server = ServerClock()
        #: The time and the error of the last failed write.
        self.failed: tuple[float, EngineError] | None = None

    @property
    def clock(self) -> Clock:
        return self._given or self._server

    def test_now(self) -> int | None:
        """Return the time of a test's clock; None if the server's clock is used."""
        return to_micros(self._given.now()) if self._given else None

    @asynccontextmanager
    async def acquired(self, *, wait_seconds: float = 0) -> AsyncIterator[PostgresConnection]:
        """Yield a connection; while the server accepts none, try again for *wait_seconds*.

        NotConnected means that nothing was sent to the server.
        """
        connection = await self._acquire(wait_seconds)
        try:
            if not self.place.is_pooled:
                yield connection
                return
            # The driver sends a statement and its arguments separately; only within a transaction
            # do both reach the same session.
            async with connection.transaction(isolation=ISOLATION):
                yield connection
        except READ_ONLY:
            # The server has become a standby: connect to the new primary from now on.
            await self._pool.expire_connections()
            raise
        finally:
            await self._pool.release(connection)

    async def _acquire(self, wait_seconds: float) -> "asyncpg.pool.PoolConnectionProxy[Any]":
        give_up_at = monotonic() + wait_seconds
        while True:
            try:
                return await self._pool.acquire(timeout=CONNECT_SECONDS)
            except (asyncpg.PostgresError, *LOST) as error:
                if isinstance(error, TimeoutError) and self._are_all_busy():
                    raise NotConnected(
                        f"{self.place.shown}: all {self._pool.get_max_size()} connections of this "
                        "process are busy; look for slow queries, or raise "
                        "VSKILL_DATABASE_POOL_SIZE"
                    ) from error
                if monotonic() >= give_up_at:
                    raise not_connected(error, self.place) from error
                await asyncio.sleep(_RECONNECT_SECONDS)

    def _are_all_busy(self) -> bool:
        pool = self._pool
        return pool.get_size() - pool.get_idle_size() >= pool.get_max_size()

    async def rows(self, query: str, *arguments: Any) -> list[Any]:
        """Return all rows of the named query; after a lost connection, try once more."""
        with errors_translated(self.place):
            try:
                async with self.acquired() as connection:
                    return await connection.fetch(self.sql[query], *arguments)
            except LOST as error:
                if isinstance(error, TimeoutError):
                    raise
                async with self.acquired() as connection:
                    return await connection.fetch(self.sql[query], *arguments)

    async def value(self, query: str, *arguments: Any) -> Any:
        """Return the only value of the named query."""
        rows = await self.rows(query, *arguments)
        return rows[0][0] if rows else None

    async def write(self, query: str, *arguments: Any) -> Any:
        """Run a query that changes something; never repeat it."""
        try:
            async with self.acquired() as connection:
                return await connection.fetch(self.sql[query], *arguments)
        except (asyncpg.PostgresError, NotConnected, *LOST) as error:
            raise self.report(error) from error

    def report(self, error: BaseException) -> EngineError:
        """Return the error for the caller of a write, and remember it for `check_writable`."""
        translated = error if isinstance(error, EngineError) else translate(error, self.place)
        self.failed = (monotonic(), translated)
        return translated

    async def measure_clock(self) -> None:
        if self._given:
            return
        asked_at = monotonic()
        micros = await self.value("now")
        self._server.set(int(micros), asked_at=asked_at)

    async def keep_time(self) -> None:
        """Measure the clock regularly; without a response, keep the last measurement."""
        while True:
            await asyncio.sleep(_MEASURE_EVERY.total_seconds())
            try:
                await self.measure_clock()
            except EngineError:
                continue
