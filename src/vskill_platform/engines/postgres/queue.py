"""The queue in PostgreSQL: leases, fencing, dead letters, and waiting without polling."""

import asyncio
import itertools
from collections.abc import Collection, Sequence
from datetime import timedelta

import msgspec

from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.check_operations import check_key, check_keys, check_limit
from vskill_platform.engines.operations import Delivery
from vskill_platform.engines.ports import (
    MAX_POSITION,
    NOTHING_BUSY,
    BackgroundStats,
    BusyResources,
    DeadLetter,
    QueueStats,
)
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.postgres.notifications import Notifications
from vskill_platform.engines.timestamps import from_micros, span_micros
from vskill_platform.errors import EngineError, InvalidInput

_SECOND = 1_000_000
#: How many delays and leases that expired since the last send or receive are counted as ready.
MAX_COUNTED_DUE = 10_000
#: Limits how many messages one call leases for all waiting receivers.
MAX_RECEIVERS = 32
#: Concurrent calls lock different messages, so several can run at once.
RECEIVES_AT_ONCE = 2


class _Wanted(msgspec.Struct, frozen=True):
    """The request of a receiver."""

    limit: int
    lease: timedelta
    busy: BusyResources
    background: bool


class _Leased(msgspec.Struct, frozen=True):
    deliveries: list[Delivery]
    #: If there are none: in how many seconds there may be one; None if unknown.
    next_ready_seconds: float | None = None


class PostgresMessageQueue:
    def __init__(self, database: Database, notifications: Notifications) -> None:
        self._database = database
        self._notifications = notifications
        self._receives: Batcher[_Wanted, _Leased] = Batcher(
            self._lease_all, max_batch=MAX_RECEIVERS, at_once=RECEIVES_AT_ONCE
        )

    async def close(self) -> None:
        await self._receives.drain()

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
        wanted = _Wanted(limit, lease, busy, background)
        time = asyncio.get_running_loop().time
        give_up_at = time() + wait.total_seconds()
        while True:
            ticket = self._notifications.queue.ticket()
            leased = await self._receives.submit(wanted)
            left = give_up_at - time()
            if leased.deliveries or left <= 0:
                return leased.deliveries
            if leased.next_ready_seconds is not None:
                left = min(left, leased.next_ready_seconds)
            await self._notifications.queue.wait(ticket, timeout_seconds=max(left, 0))

    async def _lease_all(self, wanted: Sequence[_Wanted]) -> list[_Leased | Exception]:
        """Lease messages with one call for all receivers with equal requests."""
        results: dict[int, _Leased | Exception] = {}
        alike: dict[_Wanted, list[int]] = {}
        for place, each in enumerate(wanted):
            alike.setdefault(msgspec.structs.replace(each, limit=0), []).append(place)
        for places in alike.values():
            limits = [wanted[place].limit for place in places]
            try:
                shares = await self._lease(wanted[places[0]], limits)
            except EngineError as error:
                results |= dict.fromkeys(places, error)
            else:
                results |= zip(places, shares, strict=True)
        return [results[place] for place in range(len(wanted))]

    async def _lease(self, wanted: _Wanted, limits: Sequence[int]) -> list[_Leased]:
        """Lease ready messages and divide them among the receivers, up to each one's limit."""
        busy = wanted.busy
        rows = await self._database.write(
            "receive", self._database.test_now(), sum(limits), span_micros(wanted.lease),
            list(busy.groups), list(busy.resources), busy.all_resources, busy != NOTHING_BUSY,
            wanted.background,
        )  # fmt: skip
        if rows[0][0] is None:
            *_, retry_at, now = rows[0]
            seconds = None if retry_at is None else max(retry_at - now, 0) / _SECOND
            return [_Leased([], seconds)] * len(limits)
        left = iter([Delivery(*row[:7]) for row in rows])
        # A receiver without a message asks again at once: only an empty response says when to
        # retry.
        return [_Leased([*itertools.islice(left, limit)], 0) for limit in limits]

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
            raise InvalidInput("a pause must be longer than 0 seconds")
        await self._database.write("pause", self._database.test_now(), span_micros(duration))

    async def resume(self) -> None:
        await self._database.write("resume")
        self._notifications.send(records=False, queue=True)

    async def dead_letters(self, *, after: int = 0, limit: int = 100) -> list[DeadLetter]:
        check_limit(limit)
        return [
            DeadLetter(message_id, body, key, attempts, reason, from_micros(buried_at))
            for message_id, body, key, attempts, reason, buried_at in await self._database.rows(
                "dead_letters", after, limit
            )
        ]
