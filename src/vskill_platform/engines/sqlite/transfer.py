"""Export everything from one snapshot, and load it into another database."""

import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.engines.exported import (
    PAGE_BYTES,
    PAGE_ITEMS,
    StoredDeadLetter,
    StoredItem,
    StoredMessage,
    StoredRecord,
)
from vskill_platform.engines.load_items import first_turn, put_of
from vskill_platform.engines.sqlite.connection import SQL, open_connection
from vskill_platform.engines.sqlite.fair_order import lane_of
from vskill_platform.engines.sqlite.file_watch import FileWatch
from vskill_platform.engines.sqlite.operations import apply_operations
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.engines.sqlite.transaction import Transaction
from vskill_platform.engines.timestamps import from_micros, to_micros

#: Tokens of loaded messages start at a random number, so that deliveries of the original database
#: are not valid here.
FIRST_TOKEN_BITS = 40


class SqliteExport:
    def __init__(
        self, threads: ConnectionThreads, watch: FileWatch, summary: Sequence[Any]
    ) -> None:
        self._threads = threads
        self._watch = watch
        self.history_id, self.revision, self.items, self._virtual_time = summary

    async def pages(self) -> AsyncIterator[list[StoredItem]]:
        pages = await self._threads.run(partial(_pages, self._virtual_time))
        while page := await self._threads.run(partial(self._next, pages)):
            yield page

    def _next(
        self, pages: Iterator[list[StoredItem]], _connection: apsw.Connection
    ) -> list[StoredItem] | None:
        try:
            self._watch.raise_problem()
            return next(pages, None)
        except apsw.Error as error:
            raise self._watch.report(error) from error


@asynccontextmanager
async def export_from(
    path: Path, watch: FileWatch, *, read_only: bool
) -> AsyncIterator[SqliteExport]:
    """Export on a connection of its own, whose snapshot stays open as long as necessary."""
    watch.raise_problem()
    connection = await work_in_thread(partial(open_connection, path, read_only=read_only))
    threads = ConnectionThreads([connection], name="sqlite-export")
    try:
        yield SqliteExport(threads, watch, await threads.run(partial(_begin, watch)))
    finally:
        await work_in_thread(partial(threads.close, before_closing=watch.leave_files_alone))


def _begin(watch: FileWatch, connection: apsw.Connection) -> Sequence[Any]:
    try:
        connection.execute("BEGIN")
        (summary,) = connection.execute(SQL["export_summary"]).fetchall()
    except apsw.Error as error:
        raise watch.report(error) from error
    return tuple(summary)


def _pages(virtual_time: int, connection: apsw.Connection) -> Iterator[list[StoredItem]]:
    yield from _page_by_page(connection, "export_records", _to_record)
    yield from _page_by_page(connection, "export_messages", partial(_to_message, virtual_time))
    yield from _page_by_page(connection, "export_letters", _to_letter)


def _page_by_page(
    connection: apsw.Connection, query: str, convert: Callable[..., StoredItem]
) -> Iterator[list[StoredItem]]:
    page: list[StoredItem] = []
    size = 0
    for content, *others in connection.execute(SQL[query]):
        page.append(convert(content, *others))
        size += len(content)
        if len(page) >= PAGE_ITEMS or size >= PAGE_BYTES:
            yield page
            page, size = [], 0
    if page:
        yield page


def _to_record(
    value: bytes, key: str, due: int | None, expires_at: int | None, marks: str | None, rank: int
) -> StoredRecord:
    return StoredRecord(
        key,
        value,
        None if due is None else from_micros(due),
        None if expires_at is None else from_micros(expires_at),
        tuple(json.loads(marks)) if marks else (),
        rank or 0,
    )


def _to_message(virtual_time: int, body: bytes, *columns: Any) -> StoredMessage:
    key, group, resource, attempts, ready_at, is_ready, is_retry, rank, leased = columns
    turn = rank - first_turn(group, virtual_time) if is_ready else None
    return StoredMessage(
        body, key, group, resource, attempts, from_micros(ready_at), turn,
        bool(is_retry or (leased and not is_ready)),
    )  # fmt: skip


def _to_letter(body: bytes, *columns: Any) -> StoredDeadLetter:
    key, group, resource, attempts, reason, buried_at = columns
    # PostgreSQL cannot store a NUL in a text.
    reason = reason.replace("\0", "\\0")
    return StoredDeadLetter(body, key, group, resource, attempts, reason, from_micros(buried_at))


def load(items: Sequence[StoredItem], at: Transaction) -> None:
    puts = [put_of(each) for each in items if isinstance(each, StoredRecord)]
    if puts:
        apply_operations(at, puts)
    for item in items:
        match item:
            case StoredMessage():
                _load_message(item, at)
            case StoredDeadLetter():
                _load_letter(item, at)


def _load_message(message: StoredMessage, at: Transaction) -> None:
    (virtual_time,) = at.one("virtual_time")
    is_ready = message.turn is not None
    rank = first_turn(message.group, virtual_time) + (message.turn or 0) if is_ready else 0
    at.run(
        "load_message", key=message.key, body=message.body, attempts=message.attempts,
        token=secrets.randbits(FIRST_TOKEN_BITS), is_ready=is_ready, is_retry=message.is_retry,
        ready_at=to_micros(message.ready_at), now=at.now, group=message.group,
        resource=message.resource, rank=rank,
    )  # fmt: skip
    if is_ready:
        lane = lane_of(message.group, message.is_retry)
        at.run("raise_last_rank", group=message.group, is_retry=lane, rank=rank)


def _load_letter(letter: StoredDeadLetter, at: Transaction) -> None:
    # Inserted as a message first, because messages and dead letters share their ids.
    (id_,) = at.one("take_message_id", now=at.now)
    at.run("drop_message", id=id_)
    at.run(
        "bury", id=id_, key=letter.key, body=letter.body, attempts=letter.attempts,
        reason=letter.reason, group=letter.group, resource=letter.resource,
        now=to_micros(letter.buried_at),
    )  # fmt: skip


def clear(at: Transaction, *, records: bool, then: StoredRecord | None) -> None:
    for query in ("clear_messages", "clear_letters", "clear_lanes"):
        at.run(query)
    if records:
        # The change feed does not contain this removal: the history ends, and readers start over.
        for query in ("clear_records", "clear_tombstones", "begin_new_history"):
            at.run(query)
        at.run("write_trimmed", revision=at.revision)
    if then:
        load([then], at)
