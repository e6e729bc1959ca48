"""The queue in SQLite: leases, fencing, dead letters, and waiting without polling.

The statements `receive…` in queries.sql give a message to one worker, inside one write transaction;
fair_order.py chooses which message.
"""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Any

import apsw

from vskill_platform.base.clock import Clock
from vskill_platform.engines.check_operations import check_key, check_limit
from vskill_platform.engines.operations import Delivery
from vskill_platform.engines.ports import (
    MAX_POSITION,
    NOTHING_BUSY,
    BackgroundStats,
    BusyResources,
    DeadLetter,
    QueueStats,
)
from vskill_platform.engines.sqlite.connection import SQL, snapshot
from vskill_platform.engines.sqlite.fair_order import lease_background_messages, lease_messages
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.engines.sqlite.transaction import Transaction
from vskill_platform.engines.sqlite.writer import SqliteWriter
from vskill_platform.engines.timestamps import from_micros, micros_after, to_micros
from vskill_platform.engines.wakeup import Wakeup
from vskill_platform.errors import InvalidInput

_SECOND = 1_000_000
#: How many delays and leases that expired since the last send or receive are counted as ready.
MAX_COUNTED_DUE = 10_000


class SqliteMessageQueue:
    def __init__(
        self, writer: SqliteWriter, readers: SqliteReaders, wakeup: Wakeup, clock: Clock
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._wakeup = wakeup
        self._clock = clock

    async def receive(
        self,
        limit: int,
        *,
        lease: timedelta,
        wait: timedelta = timedelta(0),
        busy: BusyResources = NOTHING_BUSY,
        background: bool = False,
    ) -> list[Delivery]:
        check_limit(limit)
        time = asyncio.get_running_loop().time  # not the clock, which may jump meanwhile
        give_up_at = time() + wait.total_seconds()
        while True:
            ticket = self._wakeup.ticket()
            deliveries, next_ready = await self._writer.write(
                lambda transaction: _lease(transaction, limit, lease, busy, background=background)
            ) or ([], None)
            left = give_up_at - time()
            if deliveries or left <= 0:
                return deliveries
            if next_ready is not None:
                left = min(left, (next_ready - to_micros(self._clock.now())) / _SECOND)
            await self._wakeup.wait(ticket, timeout_seconds=max(left, 0))

    async def pending(self, keys: Collection[str]) -> set[str]:
        if not keys:
            return set()
        for key in keys:
            check_key(key)
        wanted = apsw.carray(tuple(keys))
        return {key for (key,) in await self._readers.rows("pending", keys=wanted)}

    async def position(self, key: str) -> int | None:
        check_key(key)
        now = to_micros(self._clock.now())

        def read(connection: apsw.Connection) -> int | None:
            def count(query: str, **bindings: int) -> int:
                bindings["limit"] = MAX_POSITION + 1
                return int(connection.execute(SQL[query], bindings).get)

            with snapshot(connection):
                found: list[Any] = connection.execute(SQL["find_message"], {"key": key}).fetchall()
                if not found:
                    return None
                ((id_, rank, ready_at, is_ready, leased),) = found
                if is_ready:
                    return count("count_in_line_through", rank=rank, id=id_)
                if leased and ready_at > now:
                    return 0
                _, ready, _, _ = next(connection.execute(SQL["queue_counts"]))
                waiting = count("count_waiting_through", ready_at=ready_at, id=id_, now=now)
                return min(int(ready) + waiting, MAX_POSITION + 1)

        return await self._readers.read(read)

    async def count_group(self, group: str) -> int:
        rows = await self._readers.rows("group_size", group=group)
        return int(rows[0][0]) if rows else 0

    async def stats(self) -> QueueStats:
        now = to_micros(self._clock.now())

        def read(connection: apsw.Connection) -> QueueStats:
            def one(query: str, **bindings: int) -> tuple[Any, ...]:
                return tuple(next(connection.execute(SQL[query], bindings)))

            with snapshot(connection):
                pending, in_line, leased, dead = one("queue_counts")
                behind, behind_ready, behind_leased = one("background_counts")
                due, was_leased, due_since, behind_due, behind_lost = one(
                    "count_due", now=now, limit=MAX_COUNTED_DUE
                )
                (ready_since,) = one("ready_since")
                (delivered,) = one("count_delivered", until=now // _SECOND)
                _, _, _, paused_at, paused_until, *_ = one("read_state")
            ready, leased = in_line + due, leased - was_leased
            behind_ready, behind_leased = behind_ready + behind_due, behind_leased - behind_lost
            oldest = min(since for since in (ready_since, due_since, now) if since is not None)
            return QueueStats(
                ready=ready,
                leased=leased,
                delayed=pending - ready - leased,
                dead=dead,
                oldest_ready_age=timedelta(microseconds=now - oldest) if ready else None,
                delivered_last_minute=delivered,
                paused_until=from_micros(paused_until) if paused_at <= now < paused_until else None,
                background=BackgroundStats(
                    ready=behind_ready,
                    leased=behind_leased,
                    delayed=behind - behind_ready - behind_leased,
                ),
            )

        return await self._readers.read(read)

    async def pause(self, duration: timedelta) -> None:
        if duration <= timedelta(0):
            raise InvalidInput("a pause must be longer than 0 seconds")
        await self._writer.write(lambda at: _pause(at, at.now, micros_after(at.now, duration)))

    async def resume(self) -> None:
        await self._writer.write(lambda at: _pause(at, 0, 0))
        self._wakeup.wake()

    async def dead_letters(self, *, after: int = 0, limit: int = 100) -> list[DeadLetter]:
        check_limit(limit)
        return [
            DeadLetter(message_id, body, key, attempts, reason, from_micros(buried_at))
            for message_id, body, key, attempts, reason, buried_at in await self._readers.rows(
                "dead_letters", after=after, limit=limit
            )
        ]


def _pause(transaction: Transaction, since: int, until: int) -> None:
    transaction.run("pause", now=since, until=until)


def _lease(
    transaction: Transaction,
    limit: int,
    lease: timedelta,
    busy: BusyResources,
    *,
    background: bool,
) -> tuple[list[Delivery], int | None]:
    """Lease ready messages; if there are none, return when the next one will be ready."""
    now = transaction.now
    if transaction.is_paused:
        return [], transaction.paused_until
    lease_end = micros_after(now, lease)
    if background:
        deliveries = lease_background_messages(transaction, limit, lease_end=lease_end)
    else:
        deliveries = lease_messages(transaction, limit, lease_end=lease_end, busy=busy)
    if not deliveries:
        return [], transaction.one("next_ready")[0]
    if not background:
        transaction.run("add_delivered", second=now // _SECOND, count=len(deliveries))
    return deliveries, None
