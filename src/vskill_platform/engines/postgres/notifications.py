"""Wake-ups between nodes: NOTIFY without content, at most every few milliseconds."""

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.postgres.connection import (
    LOST,
    DatabaseLocation,
    NotConnected,
    PostgresConnection,
    connect,
)
from vskill_platform.engines.wakeup import Wakeup
from vskill_platform.errors import ConfigError

log = get_logger(__name__)

#: Wake-ups within this time become one notification to the other nodes.
SEND_EVERY_SECONDS = 0.01
#: How often waiting callers check by themselves while the connection is lost.
POLL_SECONDS = 1.0
#: The same while the connection seems to work: if it was lost unnoticed, so are notifications.
LOOK_ANYWAY_SECONDS = 5.0
#: How long the server may take to respond on the listening connection.
ANSWER_SECONDS = 10.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0


class Notifications:
    def __init__(self, place: DatabaseLocation, listen_at: DatabaseLocation) -> None:
        """*listen_at* is the same database without a pooler: a pooler would lose notifications."""
        self._place = listen_at
        self.records = Wakeup()
        self.queue = Wakeup()
        self._channels = {
            f"{place.schema}_records": self.records,
            f"{place.schema}_queue": self.queue,
        }
        self._unsent: set[str] = set()
        self._something = asyncio.Event()
        self._connection: PostgresConnection | None = None
        self._tasks = [
            *([] if listen_at.is_pooled else [asyncio.create_task(self._listen())]),
            asyncio.create_task(self._send_unsent()),
            asyncio.create_task(self._look_anyway()),
        ]

    def send(self, *, records: bool, queue: bool) -> None:
        """Wake waiting callers here at once, and on other nodes within milliseconds."""
        for channel, wakeup in self._channels.items():
            if (wakeup is self.records and records) or (wakeup is self.queue and queue):
                wakeup.wake()
                self._unsent.add(channel)
                self._something.set()

    async def close(self) -> None:
        if self._unsent and self._connection:
            with suppress(asyncpg.PostgresError, *LOST):
                await self._notify(self._connection)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen_once()
                pause = _FIRST_PAUSE_SECONDS
            except (asyncpg.PostgresError, ConfigError, NotConnected, *LOST) as error:
                log.warning("no notifications from the database", error=str(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _listen_once(self) -> None:
        """Listen until the connection is lost."""
        connection = await connect(self._place)
        try:
            ended = asyncio.Event()
            connection.add_termination_listener(lambda _connection: ended.set())
            for channel in self._channels:
                await connection.add_listener(channel, self._on_notification)
            self._connection = connection
            for wakeup in self._channels.values():  # for notifications missed before
                wakeup.wake()
            await ended.wait()
        finally:
            self._connection = None
            await _close(connection)
        raise ConnectionError("the connection for notifications was lost")

    def _on_notification(self, _connection: Any, _pid: int, channel: str, _payload: object) -> None:
        self._channels[channel].wake()

    async def _send_unsent(self) -> None:
        """Notify other nodes; when idle, probe the connection, because it may be lost unnoticed."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_ANYWAY_SECONDS):
                    await self._something.wait()
            self._something.clear()
            if connection := self._connection:
                try:
                    await self._notify(connection)
                except (asyncpg.PostgresError, *LOST):
                    connection.terminate()  # listen on a new one; other nodes check by themselves
            else:
                self._unsent.clear()
            await asyncio.sleep(SEND_EVERY_SECONDS)

    async def _notify(self, connection: PostgresConnection) -> None:
        channels, self._unsent = sorted(self._unsent), set()
        await connection.execute(
            "SELECT pg_notify(c, '') FROM unnest($1::text[]) AS c", channels, timeout=ANSWER_SECONDS
        )

    async def _look_anyway(self) -> None:
        while True:
            await asyncio.sleep(LOOK_ANYWAY_SECONDS if self._connection else POLL_SECONDS)
            for wakeup in self._channels.values():
                wakeup.wake()


async def _close(connection: PostgresConnection) -> None:
    try:
        await connection.close(timeout=1)
    except (asyncpg.PostgresError, *LOST):
        connection.terminate()
