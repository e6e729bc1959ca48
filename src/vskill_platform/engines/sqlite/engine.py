"""The SQLite engine, which needs nothing but a file."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import apsw

from vskill_platform.base.clock import Clock
from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.resource_shortage import Space, measure_space
from vskill_platform.engines.blobs.blobs import Blobs
from vskill_platform.engines.blobs.database_blobs import DatabaseBlobs
from vskill_platform.engines.check_operations import check_operations
from vskill_platform.engines.exported import Export, StoredItem, StoredRecord
from vskill_platform.engines.operations import Operation, Release, Requeue, Retry, Send
from vskill_platform.engines.ports import ChangesPage, Compacted, RecordChange
from vskill_platform.engines.sqlite.checkpoint import LogTrimmer
from vskill_platform.engines.sqlite.connection import (
    MIGRATIONS,
    check_current,
    check_in_place,
    check_pages,
    check_version,
    errors_translated,
    migrate,
    open_connection,
)
from vskill_platform.engines.sqlite.feed import follow_changes, read_changes
from vskill_platform.engines.sqlite.file_watch import FileWatch, check_log
from vskill_platform.engines.sqlite.kv import SqliteKeyValueStore
from vskill_platform.engines.sqlite.operations import apply_operations
from vskill_platform.engines.sqlite.queue import SqliteMessageQueue
from vskill_platform.engines.sqlite.readers import SqliteReaders
from vskill_platform.engines.sqlite.transaction import Transaction
from vskill_platform.engines.sqlite.transfer import clear, export_from, load
from vskill_platform.engines.sqlite.vacuum import vacuum
from vskill_platform.engines.sqlite.writer import SqliteWriter
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.engines.wakeup import Wakeup
from vskill_platform.errors import DiskNearlyFull, EngineError

#: How often to check for writes of other processes. Our own writes are noticed at once.
LOOK_EVERY_SECONDS = 0.02
#: One of this many checks also verifies that the files are in place, as does each commit.
LOOKS_PER_FILE_CHECK = 5
#: How many expired records, or traces of deletions, one transaction removes.
PRUNE_AT_ONCE = 500
#: A reader that is further behind cannot prove what it has read, and reads everything again.
COMMIT_MARKS_KEPT = 100_000
#: For how long after a failed commit the database counts as not writable.
FAILURE_COUNTS_FOR = timedelta(seconds=10)
#: Operations after which there may be a message for a waiting worker.
_MAKES_READY = frozenset({Send, Retry, Release, Requeue})


class SqliteEngine:
    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        check_for: timedelta = timedelta(0),
        migrates: bool = True,
        read_only: bool = False,
    ) -> None:
        """Open the file; *check_for* limits the integrity check.

        Without *migrates* the schema must be current; with *read_only* the file is never written.
        """
        # The name as given, so that a link that later points to another file is noticed.
        named, path = path, path.resolve()
        check_log(path)
        connection = open_connection(path, read_only=read_only)
        check_version(connection, path)
        # Before anything is written, because the log with this name would belong to the new file.
        check_in_place(connection, path)
        if check_for:
            check_pages(path, within=check_for)
        if migrates:
            migrate(connection, path, MIGRATIONS)
        else:
            check_current(connection, path)
        self._path, self._clock, self._read_only = path, clock, read_only
        self._is_closed = False
        self._watch = FileWatch(named)
        check_in_place(connection, path)
        self._writer = SqliteWriter(connection, clock, self._watch)
        self._readers = SqliteReaders(path, clock, self._watch, read_only=read_only)
        self._wakeup = Wakeup()
        # A separate wakeup: a written record must not wake every worker that waits for messages.
        self._queue_wakeup = Wakeup()
        self.kv = SqliteKeyValueStore(self._readers, clock)
        self.blobs = Blobs(
            DatabaseBlobs(self.kv, self.commit, lambda: self._clock), self.history_id
        )
        self.queue = SqliteMessageQueue(self._writer, self._readers, self._queue_wakeup, clock)
        self._lookout = open_connection(path, read_only=read_only)
        self._watcher = asyncio.create_task(self._watch_other_processes())
        self._log_trimmer = None if read_only else LogTrimmer(path)

    @property
    def clock(self) -> Clock:
        return self._clock

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        size = check_operations(operations)
        revision = await self._writer.write(
            lambda transaction: apply_operations(transaction, operations), size=size
        )
        if revision is not None:
            self._wakeup.wake()
            if not _MAKES_READY.isdisjoint(map(type, operations)):
                self._queue_wakeup.wake()
        return revision

    def changes(self, *, after: int, prefixes: Sequence[str] = ()) -> AsyncIterator[RecordChange]:
        return follow_changes(self._readers, self._wakeup, after, prefixes)

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        return await read_changes(self._readers, after, checkpoint, prefixes)

    async def revision(self) -> int:
        ((revision, *_),) = await self._readers.rows("read_state")
        return int(revision)

    async def history_id(self) -> str:
        ((history_id,),) = await self._readers.rows("read_history_id")
        return str(history_id)

    async def check_writable(self) -> None:
        version = await self._readers.read(lambda connection: connection.pragma("user_version"))
        if version != len(MIGRATIONS):
            raise EngineError(
                f"{self._path}: another release has changed the schema to version {version}, this "
                f"one knows {len(MIGRATIONS)}; run one release at a time"
            )
        await self._writer.write(_touch)
        if (space := self._space()) and space.is_full:
            raise EngineError(f"{self._path}: the disk is full; free some space")
        if self._watch.damage:
            raise EngineError(self._watch.damage)
        if failed := self._writer.failed:
            at, error = failed
            if abs(self._clock.now() - at) < FAILURE_COUNTS_FOR:
                raise error

    async def check_free_space(self) -> None:
        if (space := self._space()) and space.free < space.reserve:
            raise DiskNearlyFull(
                f"{self._path}: the disk is almost full; new submissions are refused until "
                f"{space.reserve:,} bytes are free (now {space.free:,})"
            )

    def _space(self) -> Space | None:
        try:
            return measure_space(self._path.parent)
        except OSError:  # the folder is missing; every commit reports that
            return None

    async def prune(self, *, deleted_before: datetime) -> int:
        pruned = 0
        while expired := await self._writer.write(_prune_expired):
            pruned += expired
        await self._writer.write(_forget_counters)
        while trimmed := await self._writer.write(partial(_trim_feed, to_micros(deleted_before))):
            pruned += trimmed
        self._wakeup.wake()
        return pruned

    async def compact(self) -> Compacted:
        def work() -> Compacted:
            with errors_translated(self._path):
                return vacuum(self._path)

        return await work_in_thread(work)

    def export(self) -> AbstractAsyncContextManager[Export]:
        return export_from(self._path, self._watch, read_only=self._read_only)

    async def load(self, items: Sequence[StoredItem]) -> None:
        await self._writer.write(partial(load, items))
        self._wakeup.wake()
        self._queue_wakeup.wake()

    async def clear(self, *, records: bool = True, then: StoredRecord | None = None) -> None:
        await self._writer.write(partial(clear, records=records, then=then))
        self._wakeup.wake()

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._watcher.cancel()
        with suppress(asyncio.CancelledError):
            await self._watcher
        self._watch.leave_files_alone(self._lookout)
        self._lookout.close()
        if self._log_trimmer:
            await self._log_trimmer.close()
        await self._writer.close()
        await self._readers.close()

    async def _watch_other_processes(self) -> None:
        # This runs on the event loop, which must not block.
        self._lookout.set_busy_timeout(0)
        seen = (_data_version(self._lookout), self._watch.problem)
        for look in count():
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            if look % LOOKS_PER_FILE_CHECK == 0:
                self._watch.look()
            if not (self._wakeup.is_awaited or self._queue_wakeup.is_awaited):
                continue  # the next check will still find the change
            # If the files are no longer ours, waiting callers check themselves and get the error.
            version = (_data_version(self._lookout), self._watch.problem)
            if version != seen:
                seen = version
                self._wakeup.wake()
                self._queue_wakeup.wake()


def _data_version(connection: apsw.Connection) -> object:
    """Return a value that changes with writes of other processes, or a new value if it is unknown.

    In that case waiting callers wake up, check themselves, and get the error.
    """
    try:
        return connection.pragma("data_version")
    except apsw.Error:
        return object()


def _touch(at: Transaction) -> None:
    at.run("touch", now=at.now)


def _prune_expired(at: Transaction) -> int:
    expired = at.run("expired", now=at.now, limit=PRUNE_AT_ONCE).fetchall()
    if expired:
        revision = at.next_revision()
        for (key,) in expired:
            at.run("delete", key=key)
            at.run("add_tombstone", key=key, revision=revision, now=at.now)
    return len(expired)


def _forget_counters(at: Transaction) -> None:
    at.run("forget_delivered", second=at.now // 1_000_000 - 3600)
    at.run("forget_commit_marks", revision=at.revision - COMMIT_MARKS_KEPT)


def _trim_feed(deleted_before: int, at: Transaction) -> int:
    rows = at.run("trim_feed", deleted_before=deleted_before, limit=PRUNE_AT_ONCE)
    trimmed = [revision for (revision,) in rows]
    if trimmed:
        at.run("write_trimmed", revision=max(trimmed))
    return len(trimmed)
