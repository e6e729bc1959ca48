"""The single writer: concurrent commits share a transaction and an fsync."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import apsw

from vskill_platform.base.clock import Clock
from vskill_platform.base.metrics import count_commits
from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.sqlite.connection import (
    write_transaction,
)
from vskill_platform.engines.sqlite.file_watch import FileWatch
from vskill_platform.engines.sqlite.threads import ConnectionThreads
from vskill_platform.engines.sqlite.transaction import Refused, Transaction
from vskill_platform.engines.timestamps import to_micros
from vskill_platform.errors import EngineError, InvalidInput

Result = TypeVar("Result")
#: Limits how long one caller can wait for the others in its group.
MAX_GROUP = 512
#: Limits how much one transaction adds to the log, and how long others wait for its fsync.
MAX_GROUP_BYTES = 8 * 1024 * 1024
#: Errors of Python and the driver for a value that no column can store.
_UNSTORABLE = (OverflowError, TypeError, ValueError)
#: Errors of one caller's work that do not affect the others in its group.
_CAN_FAIL = (Refused, apsw.Error, *_UNSTORABLE)

InTransaction = Callable[[Transaction], Any]
RunWork = Callable[[InTransaction, Transaction, apsw.Connection], Any]


class _GroupFailed(Exception):
    """One call of a group failed and rolled back the writes of the others."""


class SqliteWriter:
    def __init__(self, connection: apsw.Connection, clock: Clock, watch: FileWatch) -> None:
        self._clock = clock
        self._watch = watch
        #: The time and the error of the last transaction that failed as a whole.
        self.failed: tuple[datetime, EngineError] | None = None
        self._thread = ConnectionThreads([connection], name="sqlite-writer")
        self._batcher: Batcher[InTransaction, Any] = Batcher(
            self._run_group,
            max_batch=MAX_GROUP,
            at_once=1,
            max_bytes=MAX_GROUP_BYTES,
            measure=count_commits,
        )

    async def write(self, work: Callable[[Transaction], Result], *, size: int = 0) -> Result | None:
        """Run *work* in a transaction; return when it is durable, with None if it was refused."""
        result: Result | None = await self._batcher.submit(work, size=size)
        return result

    async def close(self) -> None:
        await self._batcher.drain()
        self._thread.close(before_closing=self._watch.leave_files_alone)

    def _run_group(self, group: Sequence[InTransaction]) -> asyncio.Future[list[Any]]:
        return self._thread.run(partial(self._commit_group, group))

    def _commit_group(
        self, group: Sequence[InTransaction], connection: apsw.Connection
    ) -> list[Any]:
        try:
            return self._commit_together(group, connection)
        except EngineError as error:
            self.failed = (self._clock.now(), error)
            raise
        except apsw.Error as error:
            translated = self._watch.report(error)
            self.failed = (self._clock.now(), translated)
            raise translated from error

    def _commit_together(
        self, group: Sequence[InTransaction], connection: apsw.Connection
    ) -> list[Any]:
        try:
            return self._commit(group, _run, connection)
        except _GroupFailed:  # rare, so most need no savepoints
            return self._commit(group, self._run_alone, connection)

    def _commit(
        self, group: Sequence[InTransaction], run: RunWork, connection: apsw.Connection
    ) -> list[Any]:
        self._watch.check()
        with write_transaction(connection):
            transaction = Transaction(connection, to_micros(self._clock.now()))
            before = connection.total_changes()
            outcomes = [run(work, transaction, connection) for work in group]
            if connection.total_changes() != before:
                transaction.finish()
        self._watch.check()  # never acknowledge a write to a deleted file
        return outcomes

    def _run_alone(
        self, work: InTransaction, transaction: Transaction, connection: apsw.Connection
    ) -> Any:
        """Run one caller's work in its own savepoint, so that it fails alone."""
        connection.execute("SAVEPOINT one")
        before = transaction.revision
        try:
            outcome = work(transaction)
        except _CAN_FAIL as error:
            if not connection.in_transaction:  # a full disk fails the whole transaction
                raise
            connection.execute("ROLLBACK TO one")
            transaction.revision = before
            outcome = self._answer(error)
        connection.execute("RELEASE one")
        return outcome

    def _answer(self, error: Exception) -> Exception | None:
        match error:
            case Refused():
                return None
            case apsw.Error():
                return self._watch.report(error)
            case _:
                return InvalidInput(f"this cannot be stored: {error}")


def _run(work: InTransaction, transaction: Transaction, _connection: apsw.Connection) -> Any:
    try:
        return work(transaction)
    except _CAN_FAIL as error:
        raise _GroupFailed from error
