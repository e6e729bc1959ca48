"""The PostgreSQL engine, which any number of nodes share."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from itertools import groupby
from time import monotonic
from typing import Any

import asyncpg
import msgspec

from vskill_platform.base.clock import Clock
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.blobs.blobs import Blobs
from vskill_platform.engines.blobs.database_blobs import DatabaseBlobs
from vskill_platform.engines.exported import (
    Export,
    StoredDeadLetter,
    StoredItem,
    StoredMessage,
    StoredRecord,
)
from vskill_platform.engines.load_items import put_of
from vskill_platform.engines.operations import Delete, Operation, Put, Release, Requeue, Retry, Send
from vskill_platform.engines.ports import ChangesPage, Compacted, RecordChange
from vskill_platform.engines.postgres.commit import Writer
from vskill_platform.engines.postgres.connection import (
    DatabaseLocation,
    close_pool,
    connect,
    errors_translated,
    is_lost,
    open_pool,
    read_url,
)
from vskill_platform.engines.postgres.database import Database
from vskill_platform.engines.postgres.kv import PostgresKeyValueStore
from vskill_platform.engines.postgres.migrate import (
    CURRENT_VERSION,
    prepare_schema,
    read_schema_version,
)
from vskill_platform.engines.postgres.notifications import Notifications
from vskill_platform.engines.postgres.queue import PostgresMessageQueue
from vskill_platform.engines.postgres.transfer import (
    clear,
    export_from,
    load_letters,
    load_messages,
)
from vskill_platform.engines.server_options import DEFAULT_OPTIONS, ServerOptions
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import EngineError, FeedTrimmed, HistoryChanged

log = get_logger(__name__)

#: How many expired records, or traces of deletions, one transaction removes.
PRUNE_AT_ONCE = 500
#: A reader that is further behind cannot prove what it has read, and reads everything again.
COMMIT_MARKS_KEPT = 100_000
#: For how long after a failed commit the database counts as not writable.
FAILURE_COUNTS_FOR = timedelta(seconds=10)
_PAGE = 1000
#: The pause between two attempts to connect at the start.
_RECONNECT_SECONDS = 1.0
#: Operations after which there may be a message for a waiting worker.
_MAKES_READY = frozenset({Send, Retry, Release, Requeue})
_WRITES = frozenset({Put, Delete})


async def open_postgres(
    url: str,
    *,
    clock: Clock | None = None,
    create: bool = True,
    migrate: bool = True,
    options: ServerOptions = DEFAULT_OPTIONS,
) -> "PostgresEngine":
    place = read_url(url)
    listen_at = read_url(options.listen_url) if options.listen_url else place
    if listen_at.is_pooled:
        log.warning(
            "no notifications through a pooler: waiting workers and pages poll every second; set "
            "VSKILL_DATABASE_LISTEN_URL to the server itself"
        )
    # Channels are named after the schema, so both URLs must name the same one.
    listen_at = msgspec.structs.replace(listen_at, schema=place.schema)
    give_up_at = monotonic() + options.wait.total_seconds()
    while True:
        try:
            await prepare_schema(place, create=create, migrate=migrate)
            with errors_translated(place):
                pool = await open_pool(place, size=options.pool_size)
            return await _started(PostgresEngine(place, pool, clock, listen_at=listen_at))
        except EngineError as error:
            # If the connection is lost here, everything is repeated, as if it had never been made.
            if not is_lost(error) or monotonic() >= give_up_at:
                raise
            log.warning("waiting for the database", error=str(error))
            await asyncio.sleep(_RECONNECT_SECONDS)


async def _started(engine: "PostgresEngine") -> "PostgresEngine":
    try:
        await engine.start()
    except EngineError:
        await engine.close()
        raise
    return engine


class PostgresEngine:
    def __init__(
        self,
        place: DatabaseLocation,
        pool: "asyncpg.Pool[Any]",
        clock: Clock | None,
        *,
        listen_at: DatabaseLocation,
    ) -> None:
        self._place = place
        self._pool = pool
        self._database = Database(place, pool, clock)
        self._writer = Writer(self._database)
        self._notifications = Notifications(place, listen_at)
        self.kv = PostgresKeyValueStore(self._database)
        self.blobs = Blobs(DatabaseBlobs(self.kv, self.commit, lambda: self.clock), self.history_id)
        self.queue = PostgresMessageQueue(self._database, self._notifications)
        self._timekeeper: asyncio.Task[None] | None = None
        self._is_closed = False

    async def start(self) -> None:
        await self._database.measure_clock()
        self._timekeeper = asyncio.create_task(self._database.keep_time())

    @property
    def clock(self) -> Clock:
        return self._database.clock

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        revision = await self._writer.commit(operations)
        if revision is not None:
            kinds = set(map(type, operations))
            self._notifications.send(
                records=not _WRITES.isdisjoint(kinds), queue=not _MAKES_READY.isdisjoint(kinds)
            )
        return revision

    async def changes(
        self, *, after: int, prefixes: Sequence[str] = ()
    ) -> AsyncIterator[RecordChange]:
        checkpoint = ""
        while True:
            ticket = self._notifications.records.ticket()
            page = await self.read_changes(after=after, checkpoint=checkpoint, prefixes=prefixes)
            for change in page.changes:
                yield change
            if page.through >= after:
                after, checkpoint = page.through, page.checkpoint
            if page.is_last and not page.changes:
                await self._notifications.records.wait(ticket)

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        ((newest, trimmed_through, before, revisions),) = await self._database.rows(
            "read_changes", after, _PAGE
        )
        if checkpoint and checkpoint != before:
            raise HistoryChanged(
                f"the database is not the one that was read up to revision {after}: it was "
                "restored or replaced; read everything again"
            )
        if after < trimmed_through:
            raise FeedTrimmed(
                f"the change feed begins behind revision {trimmed_through}, not at {after}: "
                "read everything again and follow it from there"
            )
        is_last = len(revisions) < _PAGE
        # Whole commits only. A key that changes meanwhile is missing here, and is in a later page.
        through = newest if is_last else revisions[-1]
        rows = []
        if revisions:
            rows = await self._database.rows("changes_through", after, through, list(prefixes))
        changes = [
            RecordChange(revision, tuple(key for _, key in group))
            for revision, group in groupby(rows, key=lambda row: row[0])
        ]
        reached = await self._database.value("checkpoint", through)
        return ChangesPage(changes, through, is_last, reached)

    async def revision(self) -> int:
        return int((await self._database.rows("read_state"))[0]["revision"])

    async def history_id(self) -> str:
        return str((await self._database.rows("read_state"))[0]["history_id"])

    async def check_writable(self) -> None:
        with errors_translated(self._place):
            async with self._database.acquired() as connection:
                found = await read_schema_version(connection, self._place.schema)
        if not (found and (found.version == CURRENT_VERSION or found.is_newer_but_usable)):
            raise EngineError(
                f"{self._place.shown}: another release has changed the schema to version "
                f"{found.version if found else 'none'}, this one knows {CURRENT_VERSION}; use the "
                "newer release"
            )
        await self._database.write("touch")
        if failed := self._database.failed:
            at, error = failed
            if monotonic() - at < FAILURE_COUNTS_FOR.total_seconds():
                raise error

    async def check_free_space(self) -> None:
        """Do nothing: only the server sees its disk, and a full disk makes commits fail."""

    async def prune(self, *, deleted_before: datetime) -> int:
        now = self._database.test_now()
        pruned = await self._prune("prune_expired", now)
        await self._database.write("forget", now, COMMIT_MARKS_KEPT)
        pruned += await self._prune("trim_feed", to_micros(deleted_before))
        self._notifications.send(records=True, queue=False)
        return pruned

    async def _prune(self, query: str, moment: int | None) -> int:
        pruned = 0
        while True:
            ((removed,),) = await self._database.write(query, moment, PRUNE_AT_ONCE)
            if not removed:
                return pruned
            pruned += removed

    async def compact(self) -> Compacted:
        """Let the server reuse the space of deleted rows; autovacuum has usually done that."""
        before = int(await self._database.value("size"))
        with errors_translated(self._place):
            connection = await connect(self._place)
            try:
                for table in ("kv", "mark", "tombstone", "message", "dead_letter", "queue_count"):
                    await connection.execute(f"VACUUM {self._place.schema}.{table}", timeout=None)
            finally:
                await connection.close()
        return Compacted(before_bytes=before, after_bytes=int(await self._database.value("size")))

    def export(self) -> AbstractAsyncContextManager[Export]:
        return export_from(self._database)

    async def load(self, items: Sequence[StoredItem]) -> None:
        puts = [put_of(each) for each in items if isinstance(each, StoredRecord)]
        if puts:
            await self.commit(puts)
        if messages := [each for each in items if isinstance(each, StoredMessage)]:
            await load_messages(self._database, messages)
            self._notifications.send(records=False, queue=True)
        if letters := [each for each in items if isinstance(each, StoredDeadLetter)]:
            await load_letters(self._database, letters)

    async def clear(self, *, records: bool = True, then: StoredRecord | None = None) -> None:
        await clear(self._database, records=records, then=then)
        self._notifications.send(records=records, queue=False)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._timekeeper:
            self._timekeeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._timekeeper
        await self._writer.close()
        await self.queue.close()
        await self.kv.close()
        await self._notifications.close()
        await close_pool(self._pool)
