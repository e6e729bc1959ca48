"""The one writer: commits that wait at the same moment share a transaction and an fsync."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import apsw

from vskill_platform.base.clock import Clock
from vskill_platform.engines.batcher import Batcher
from vskill_platform.engines.moments import to_micros
from vskill_platform.engines.sqlite.connection import (
    errors_translated,
    translate,
    write_transaction,
)
from vskill_platform.engines.sqlite.transaction import Refused, Transaction
from vskill_platform.errors import InvalidInput

Result = TypeVar("Result")
#: Bounds how long one caller can wait for the others in its group.
MAX_GROUP = 512
#: What Python and the driver raise for a value that no column can hold.
_UNSTORABLE = (OverflowError, TypeError, ValueError)


class SqliteWriter:
    def __init__(self, connection: apsw.Connection, path: Path, clock: Clock) -> None:
        self._connection = connection
        self._path = path
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._batcher: Batcher[Callable[[Transaction], Any], Any] = Batcher(
            self._run_group, max_batch=MAX_GROUP, at_once=1
        )

    async def write(self, work: Callable[[Transaction], Result]) -> Result | None:
        """Run *work* in a transaction; return when it is durable, or None if it was refused."""
        result: Result | None = await self._batcher.submit(work)
        return result

    async def close(self) -> None:
        await self._batcher.drain()
        self._thread.shutdown()
        self._connection.close()

    async def _run_group(self, group: Sequence[Callable[[Transaction], Any]]) -> Sequence[Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._commit_group, group)

    def _commit_group(self, group: Sequence[Callable[[Transaction], Any]]) -> list[Any]:
        connection = self._connection
        with errors_translated(self._path), write_transaction(connection):
            transaction = Transaction(connection, to_micros(self._clock.now()))
            before = connection.total_changes()
            outcomes = [self._run_one(work, transaction) for work in group]
            if connection.total_changes() != before:
                transaction.finish()
        return outcomes

    def _run_one(self, work: Callable[[Transaction], Any], transaction: Transaction) -> Any:
        """Run one caller's work in its own savepoint, standing or falling alone."""
        connection = self._connection
        connection.execute("SAVEPOINT one")
        before = transaction.revision
        try:
            outcome = work(transaction)
        except (Refused, apsw.Error, *_UNSTORABLE) as error:
            if not connection.in_transaction:  # a full disk takes the whole transaction with it
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
                return translate(error, self._path)
            case _:
                return InvalidInput(f"this cannot be stored: {error}")
