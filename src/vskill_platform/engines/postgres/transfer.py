"""Export everything from one snapshot, and load it into another database."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import asyncpg

from vskill_platform.engines.exported import (
    PAGE_BYTES,
    PAGE_ITEMS,
    StoredDeadLetter,
    StoredItem,
    StoredMessage,
    StoredRecord,
)
from vskill_platform.engines.load_items import first_turn, put_of
from vskill_platform.engines.postgres.commit import group_arguments, prepare_put
from vskill_platform.engines.postgres.connection import (
    LIFT_TIMEOUTS,
    DatabaseLocation,
    PostgresConnection,
    connect,
    errors_translated,
    queries_for,
)
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.timestamps import from_micros, to_micros

#: Tokens of loaded messages start at a random number, so that deliveries of the original database
#: are not valid here.
_FIRST_TOKEN_BITS = 40


class PostgresExport:
    def __init__(self, database: Database, connection: PostgresConnection, summary: Any) -> None:
        self._database = database
        self._connection = connection
        self.history_id, self.revision, self.items, self._virtual_time = summary

    async def pages(self) -> AsyncIterator[list[StoredItem]]:
        to_message = partial(_to_message, self._virtual_time)
        for query, first, convert in (
            ("export_records", "", _to_record),
            ("export_messages", -1, to_message),
            ("export_letters", -1, _to_letter),
        ):
            async for page in self._page_by_page(query, first, convert):
                yield page

    async def _page_by_page(
        self, query: str, after: str | int, convert: Callable[..., StoredItem]
    ) -> AsyncIterator[list[StoredItem]]:
        while True:
            with errors_translated(self._database.place):
                rows = await self._connection.fetch(
                    self._database.sql[query], after, PAGE_ITEMS, PAGE_BYTES
                )
            if not rows:
                return
            yield [convert(*row[1:]) for row in rows]
            after = rows[-1][0]


@asynccontextmanager
async def export_from(database: Database) -> AsyncIterator[PostgresExport]:
    """Export on a connection of its own, whose snapshot stays open as long as necessary."""
    with errors_translated(database.place):
        connection = await connect(database.place)
    try:
        with errors_translated(database.place):
            await connection.execute(
                f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {LIFT_TIMEOUTS}"
            )
            summary = await connection.fetchrow(database.sql["export_summary"])
        yield PostgresExport(database, connection, summary)
    finally:
        try:
            await connection.close(timeout=5)
        except (asyncpg.PostgresError, OSError, TimeoutError):
            connection.terminate()


def _to_record(
    key: str, value: bytes, due: int | None, expires_at: int | None, marks: Any, rank: int | None
) -> StoredRecord:
    return StoredRecord(
        key,
        value,
        None if due is None else from_micros(due),
        None if expires_at is None else from_micros(expires_at),
        tuple(marks or ()),
        rank or 0,
    )


def _to_message(virtual_time: int, body: bytes, *columns: Any) -> StoredMessage:
    key, group, resource, attempts, ready_at, is_ready, is_retry, rank = columns
    turn = rank - first_turn(group, virtual_time) if is_ready else None
    return StoredMessage(
        body, key, group, resource, attempts, from_micros(ready_at), turn, is_retry
    )


def _to_letter(body: bytes, *columns: Any) -> StoredDeadLetter:
    key, group, resource, attempts, reason, buried_at = columns
    return StoredDeadLetter(body, key, group, resource, attempts, reason, from_micros(buried_at))


async def load_messages(database: Database, messages: Sequence[StoredMessage]) -> None:
    rows = [
        (
            each.body, each.key, each.group, each.resource, each.attempts,
            to_micros(each.ready_at), each.turn, each.is_retry,
            secrets.randbits(_FIRST_TOKEN_BITS),
        )
        for each in messages
    ]  # fmt: skip
    await database.write("load_messages", *_columns(rows), database.test_now())


async def load_letters(database: Database, letters: Sequence[StoredDeadLetter]) -> None:
    rows = [
        (
            each.body, each.key, each.group, each.resource, each.attempts, each.reason,
            to_micros(each.buried_at),
        )
        for each in letters
    ]  # fmt: skip
    await database.write("load_letters", *_columns(rows))


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


async def clear(database: Database, *, records: bool, then: StoredRecord | None) -> None:
    with errors_translated(database.place):
        async with database.acquired() as connection, connection.transaction():
            await connection.execute(database.sql["clear_queue"])
            if records:
                # The change feed does not contain this removal: the history ends, and readers start
                # over.
                await connection.execute(database.sql["clear_records"])
            if then:
                await write_record(connection, database.place, then, database.test_now())


async def write_record(
    connection: PostgresConnection,
    place: DatabaseLocation,
    record: StoredRecord,
    test_now: int | None = None,
) -> None:
    """Write a record in the transaction of a connection, with a revision of its own."""
    query = queries_for(place.schema)["commit_group"]
    arguments = group_arguments([prepare_put(put_of(record))])
    await connection.execute(query, uuid4(), test_now, *arguments)
