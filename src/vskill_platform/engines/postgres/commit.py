"""Commits: one call of the server applies a group of them, each independently."""

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec

from vskill_platform.base.metrics import count_commits
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.check_operations import check_operations
from vskill_platform.engines.operations import (
    ABSENT,
    Acknowledge,
    Bury,
    Delete,
    Drop,
    Expect,
    Extend,
    Operation,
    Put,
    RecordOperation,
    Release,
    Requeue,
    Retry,
    Send,
)
from vskill_platform.engines.postgres.connection import LOST, NotConnected
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.timestamps import span_micros, to_optional_micros
from vskill_platform.errors import EngineError, InvalidInput, OutcomeUnknown

log = get_logger(__name__)

#: Limits how long one caller can wait for the others in its group.
MAX_GROUP = 512
#: Limits the size of a group, which is one message and in memory on both sides.
MAX_GROUP_BYTES = 8 * 1024 * 1024
#: Groups without records lock no common row, so several can run at once.
QUEUE_GROUPS_AT_ONCE = 2
#: How often a group is retried after a deadlock.
_TRIES = 5
_LONGEST_PAUSE_SECONDS = 0.2
#: A server that restarts or fails over is back within seconds, so callers wait.
RESTART_SECONDS = 5.0
#: How long to look for the outcome of a commit whose connection was lost.
_DECIDE_WITHIN = timedelta(seconds=20)
_AGAIN = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_EXPECT, _PUT, _DELETE = range(3)
_ACKNOWLEDGE, _RETRY, _RELEASE, _EXTEND, _BURY = range(1, 6)
_REVIVE, _DROP = 1, 2
_DELIVERY_KINDS: dict[type, int] = {
    Acknowledge: _ACKNOWLEDGE, Retry: _RETRY, Release: _RELEASE, Extend: _EXTEND, Bury: _BURY,
}  # fmt: skip


class Prepared(msgspec.Struct, frozen=True):
    """One commit in the form that the server accepts, and the keys for which it may conflict."""

    records: list[tuple[Any, ...]]
    deliveries: list[tuple[Any, ...]]
    letters: list[tuple[Any, ...]]
    sends: list[tuple[Any, ...]]
    #: Keys, deliveries and dead letters; no two commits of a group share one.
    touched: frozenset[object]
    size: int


class Writer:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._records: Batcher[Prepared, int | None] = Batcher(
            self._commit_all, max_batch=MAX_GROUP, at_once=1, measure=count_commits
        )
        self._queue_only: Batcher[Prepared, int | None] = Batcher(
            self._commit_all,
            max_batch=MAX_GROUP,
            at_once=QUEUE_GROUPS_AT_ONCE,
            measure=count_commits,
        )

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        check_operations(operations)
        try:
            prepared = prepare(operations, self._database.clock.now())
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidInput(f"this cannot be stored: {error}") from error
        if prepared is None:
            return None
        return await (self._records if prepared.records else self._queue_only).submit(prepared)

    async def close(self) -> None:
        await self._records.drain()
        await self._queue_only.drain()

    async def _commit_all(self, commits: Sequence[Prepared]) -> list[int | Exception | None]:
        outcomes: list[int | Exception | None] = [None] * len(commits)
        for group in split_into_groups(commits):
            try:
                results = await self._commit_group([commits[at] for at in group])
            except EngineError as error:
                results = [error] * len(group)
            for at, result in zip(group, results, strict=True):
                outcomes[at] = result
        return outcomes

    async def _commit_group(self, commits: Sequence[Prepared]) -> Sequence[int | Exception | None]:
        for attempt in range(1, _TRIES + 1):
            group_id = uuid4()
            try:
                return await self._call(group_id, commits)
            except _AGAIN as error:
                if attempt == _TRIES:
                    raise self._database.report(error) from error
                # A random pause, so that two groups do not collide again.
                await asyncio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))  # noqa: S311 - not a secret
            except LOST as error:
                outcome = await self._find_outcome(group_id, error)
                if outcome is not None:
                    return outcome
            except NotConnected as error:
                raise self._database.report(error) from error
            except asyncpg.PostgresError as error:
                raise self._database.report(error) from error
        raise self._database.report(ConnectionError("the connection was lost repeatedly"))

    async def _call(self, group_id: UUID, commits: Sequence[Prepared]) -> Sequence[int | None]:
        arguments = group_arguments(commits)
        async with self._database.acquired(wait_seconds=RESTART_SECONDS) as connection:
            done: Sequence[int | None] = await connection.fetchval(
                self._database.sql["commit_group"],
                group_id,
                self._database.test_now(),
                *arguments,
            )
        return done

    async def _find_outcome(
        self, group_id: UUID, error: BaseException
    ) -> Sequence[int | None] | None:
        """Return the outcome of a group whose connection was lost; None if it was not applied.

        This writes the group's id itself, which keeps a transaction that is still under way from
        being applied later.
        """
        log.warning("connection lost during a commit", error=str(error) or type(error).__name__)
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + _DECIDE_WITHIN.total_seconds()
        while True:
            try:
                return await self._claim_outcome(group_id)
            except (*LOST, NotConnected, asyncpg.PostgresError) as again:
                if loop.time() >= give_up_at:
                    raise OutcomeUnknown(
                        f"{self._database.place.shown}: the connection was lost during a commit, "
                        "and whether it was applied is unknown; check before you repeat it"
                    ) from again
                await asyncio.sleep(_LONGEST_PAUSE_SECONDS)

    async def _claim_outcome(self, group_id: UUID) -> Sequence[int | None] | None:
        async with self._database.acquired() as connection:
            await connection.execute(self._database.sql["claim_outcome"], group_id)
            done: Sequence[int | None] | None = await connection.fetchval(
                self._database.sql["read_outcome"], group_id
            )
        return done


def group_arguments(commits: Sequence[Prepared]) -> list[Any]:
    """Return the arguments of `commit_group` after the id of the group and the time."""
    return [
        len(commits),
        *_columns([commit.records for commit in commits], 8),
        *_columns([commit.deliveries for commit in commits], 5),
        *_columns([commit.letters for commit in commits], 2),
        *_columns([commit.sends for commit in commits], 5),
    ]


def _columns(rows_of_commits: Sequence[Sequence[tuple[Any, ...]]], width: int) -> list[list[Any]]:
    """Convert the rows of all commits to columns; the first contains the number of the commit."""
    rows = [(number, *row) for number, rows in enumerate(rows_of_commits, start=1) for row in rows]
    if not rows:
        return [[] for _ in range(width + 1)]
    return [list(column) for column in zip(*rows, strict=True)]


def split_into_groups(commits: Sequence[Prepared]) -> list[list[int]]:
    """Return groups of positions, in order, so that no two commits of a group conflict.

    Commits on the same key keep their order: each is in a later group than the one before it.
    """
    groups: list[list[int]] = []
    sizes: list[int] = []
    last_group_of: dict[object, int] = {}
    for position, commit in enumerate(commits):
        first = max((last_group_of.get(item, -1) for item in commit.touched), default=-1) + 1
        at = first
        while at < len(groups) and sizes[at] + commit.size > MAX_GROUP_BYTES:
            at += 1
        if at == len(groups):
            groups.append([])
            sizes.append(0)
        groups[at].append(position)
        sizes[at] += commit.size
        for item in commit.touched:
            last_group_of[item] = at
    return groups


def prepare(operations: Sequence[Operation], now: datetime) -> Prepared | None:
    """Return a commit in the form that the server accepts; None if it cannot be applied."""
    records: dict[str, RecordOperation] = {}
    deliveries: list[tuple[Any, ...]] = []
    letters: list[tuple[Any, ...]] = []
    sends: list[tuple[Any, ...]] = []
    size = 0
    for operation in operations:
        match operation:
            case Put() | Delete() | Expect():
                before = records.get(operation.key)
                if before is not None:
                    after = _join(before, operation, now)
                    if after is None:
                        return None
                    records[operation.key] = after
                else:
                    records[operation.key] = operation
            case Send():
                delay = span_micros(operation.delay)
                row = (operation.key, operation.body, delay, operation.group, operation.resource)
                sends.append(row)
                size += len(operation.body)
            case Requeue(message_id):
                letters.append((_REVIVE, _whole(message_id)))
            case Drop(message_id):
                letters.append((_DROP, _whole(message_id)))
            case _:
                delivery = operation.delivery
                key = delivery.key
                if key is not None and isinstance(operation, Acknowledge | Bury):
                    # It was sent before the message ended, so it had no effect.
                    sends = [send for send in sends if send[0] != key]
                deliveries.append(_delivery_row(operation))
    rows = [_record_row(record) for record in records.values()]
    size += sum(len(row[3] or b"") for row in rows)
    ids = [row[1] for row in deliveries]
    if len(set(ids)) < len(ids) or len({row[1] for row in letters}) < len(letters):
        return None  # the first of the two would end what the second names
    touched = frozenset(
        [*records, *(("delivery", id_) for id_ in ids), *(("letter", row[1]) for row in letters)]
    )
    return Prepared(rows, deliveries, letters, sends, touched, size)


def prepare_put(put: Put) -> Prepared:
    return Prepared([_record_row(put)], [], [], [], frozenset([put.key]), len(put.value))


def _join(first: RecordOperation, second: RecordOperation, now: datetime) -> RecordOperation | None:
    """Combine two operations on the same key; return None if the second cannot succeed."""
    if isinstance(first, Expect):
        if second.expected not in {None, first.expected}:
            return None
        return msgspec.structs.replace(second, expected=first.expected)
    exists = isinstance(first, Put) and (first.expires_at is None or first.expires_at > now)
    if second.expected is not None and (exists or second.expected != ABSENT):
        return None  # the revision of this commit is not known yet
    if isinstance(second, Expect):
        return first
    return msgspec.structs.replace(second, expected=first.expected)


def _record_row(record: RecordOperation) -> tuple[Any, ...]:
    match record:
        case Put():
            marks = json.dumps(record.marks) if record.marks else None
            return (
                _PUT, record.key, record.expected, record.value, to_optional_micros(record.due),
                to_optional_micros(record.expires_at), marks, _whole(record.rank),
            )  # fmt: skip
        case Delete():
            return (_DELETE, record.key, record.expected, None, None, None, None, None)
        case Expect():
            return (_EXPECT, record.key, record.expected, None, None, None, None, None)


def _delivery_row(operation: Acknowledge | Retry | Release | Extend | Bury) -> tuple[Any, ...]:
    micros, reason = 0, None
    if isinstance(operation, Retry):
        micros = span_micros(operation.delay)
    elif isinstance(operation, Extend):
        micros = span_micros(operation.lease)
    elif isinstance(operation, Bury):
        # An error may contain a file name that is not valid text, but must be stored anyway.
        reason = operation.reason.encode(errors="backslashreplace").decode().replace("\0", "\\0")
    delivery = operation.delivery
    kind = _DELIVERY_KINDS[type(operation)]
    return (kind, delivery.message_id, delivery.token, micros, reason)


def _whole(number: int) -> int:
    """Check that a number fits into its column, because otherwise the whole group would fail."""
    if not -(2**63) <= number < 2**63:
        raise OverflowError(f"{number} has more than 64 bits")
    return number
