"""The queue in PostgreSQL: leases, fencing, dead letters, and waiting without polling."""

import asyncio
from collections.abc import Collection
from datetime import timedelta

from vskill_platform.engines.checks import check_key, check_keys, check_limit
from vskill_platform.engines.ports import (
    MAX_POSITION,
    NOTHING_BUSY,
    BackgroundStats,
    BusyResources,
    DeadLetter,
    Delivery,
    QueueStats,
)
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.postgres.doorbell import Doorbell
from vskill_platform.engines.timestamps import from_micros, span_micros
from vskill_platform.errors import InvalidInput

_SECOND = 1_000_000
#: Delays and leases that expired since the last send or receive. More count as delayed.
MAX_COUNTED_DUE = 10_000


class PostgresMessageQueue:
    def __init__(self, database: Database, doorbell: Doorbell) -> None:
        self._database = database
        self._doorbell = doorbell

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
        time = asyncio.get_running_loop().time
        give_up_at = time() + wait.total_seconds()
        while True:
            ticket = self._doorbell.queue.ticket()
            deliveries, next_ready_seconds = await self._lease(
                limit, lease, busy, background=background
            )
            left = give_up_at - time()
            if deliveries or left <= 0:
                return deliveries
            if next_ready_seconds is not None:
                left = min(left, next_ready_seconds)
            await self._doorbell.queue.wait(ticket, timeout_seconds=max(left, 0))

    async def _lease(
        self, limit: int, lease: timedelta, busy: BusyResources, *, background: bool
    ) -> tuple[list[Delivery], float | None]:
        """Lease ready messages; if there are none, return in how many seconds there may be."""
        rows = await self._database.write(
            "receive", self._database.test_now(), limit, span_micros(lease),
            list(busy.groups), list(busy.resources), busy.all_resources, busy != NOTHING_BUSY,
            background,
        )  # fmt: skip
        if rows[0][0] is None:
            *_, retry_at, now = rows[0]
            return [], None if retry_at is None else max(retry_at - now, 0) / _SECOND
        return [Delivery(*row[:7]) for row in rows], None

    async def pending(self, keys: Collection[str]) -> set[str]:
        if not keys:
            return set()
        wanted = list(keys)
        check_keys(wanted)
        return {key for (key,) in await self._database.rows("pending", wanted)}

    async def position(self, key: str) -> int | None:
        check_key(key)
        now = self._database.test_now()
        found = await self._database.value("position", key, now, MAX_POSITION + 1)
        return None if found is None else int(found)

    async def count_group(self, group: str) -> int:
        return int(await self._database.value("group_size", group))

    async def stats(self) -> QueueStats:
        (row,) = await self._database.rows("stats", self._database.test_now(), MAX_COUNTED_DUE)
        ready, leased = row["in_line"] + row["due"], row["leased"] - row["was_leased"]
        behind_ready = row["behind_in_line"] + row["behind_due"]
        behind_leased = row["behind_leased"] - row["behind_lost"]
        oldest = min(row["oldest"] or row["now"], row["now"])
        paused_until = row["paused_until"]
        return QueueStats(
            ready=ready,
            leased=leased,
            delayed=row["pending"] - ready - leased,
            dead=row["dead"],
            oldest_ready_age=timedelta(microseconds=row["now"] - oldest) if ready else None,
            delivered_last_minute=row["delivered"],
            paused_until=None if paused_until is None else from_micros(paused_until),
            background=BackgroundStats(
                ready=behind_ready,
                leased=behind_leased,
                delayed=row["behind_pending"] - behind_ready - behind_leased,
            ),
        )

    async def pause(self, duration: timedelta) -> None:
        if duration <= timedelta(0):
            raise InvalidInput("a pause must last longer than no time at all")
        await self._database.write("pause", self._database.test_now(), span_micros(duration))

    async def resume(self) -> None:
        await self._database.write("resume")
        self._doorbell.ring(records=False, queue=True)

    async def dead_letters(self, *, after: int = 0, limit: int = 100) -> list[DeadLetter]:
        check_limit(limit)
        return [
            DeadLetter(message_id, body, key, attempts, reason, from_micros(buried_at))
            for message_id, body, key, attempts, reason, buried_at in await self._database.rows(
                "dead_letters", after, limit
            )
        ]
