"""Engines that observe, break or slow down calls; everything else is the real engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

from vskill_platform.base.clock import Clock
from vskill_platform.engines.blobs.blobs import Blobs
from vskill_platform.engines.exported import Export, StoredItem, StoredRecord
from vskill_platform.engines.operations import Acknowledge, Operation
from vskill_platform.engines.ports import (
    ChangesPage,
    Compacted,
    Engine,
    Entry,
    KeyPage,
    KeyValueStore,
    MessageQueue,
    RecordChange,
)
from vskill_platform.errors import VskillError
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env


class ProbingKeyValueStore:
    """Counts how many gets are in flight at once, and fails those that a test wants to fail."""

    def __init__(self, kv: KeyValueStore) -> None:
        self._kv = kv
        self._in_flight = 0
        self.most_at_once = 0
        self.read: list[str] = []
        self.fails: Callable[[str], Exception | None] = lambda _: None

    async def get(self, key: str) -> Entry | None:
        self.read.append(key)
        self._in_flight += 1
        self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            await asyncio.sleep(0)  # whoever reads one by one is alone here
            if error := self.fails(key):
                raise error
            return await self._kv.get(key)
        finally:
            self._in_flight -= 1

    async def get_many(self, keys: Sequence[str]) -> list[Entry | None]:
        return await asyncio.gather(*map(self.get, keys))

    async def list_keys(self, prefix: str, **options: Any) -> KeyPage:
        return await self._kv.list_keys(prefix, **options)

    async def find_marked(self, words: Sequence[str], **options: Any) -> list[list[str]]:
        return await self._kv.find_marked(words, **options)


async def _do_nothing() -> None:
    pass


class ProbingEngine:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.kv = ProbingKeyValueStore(engine.kv)
        #: What to do before a commit; a test may raise here, or wait.
        self.before_commit: Callable[[Sequence[Operation]], None] = lambda _: None
        #: What to do when somebody asks whether it can be written; a test may raise or wait here.
        self.before_check: Callable[[], Awaitable[None]] = _do_nothing
        self.commits = 0
        self.checks = 0

    @property
    def queue(self) -> MessageQueue:
        return self._engine.queue

    @property
    def blobs(self) -> Blobs:
        return self._engine.blobs

    @property
    def clock(self) -> Clock:
        return self._engine.clock

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        self.commits += 1
        self.before_commit(operations)
        return await self._engine.commit(operations)

    def changes(self, *, after: int, prefixes: Sequence[str] = ()) -> AsyncIterator[RecordChange]:
        return self._engine.changes(after=after, prefixes=prefixes)

    async def read_changes(
        self, *, after: int, checkpoint: str = "", prefixes: Sequence[str] = ()
    ) -> ChangesPage:
        return await self._engine.read_changes(
            after=after, checkpoint=checkpoint, prefixes=prefixes
        )

    async def history_id(self) -> str:
        return await self._engine.history_id()

    async def revision(self) -> int:
        return await self._engine.revision()

    async def check_writable(self) -> None:
        self.checks += 1
        await self.before_check()
        await self._engine.check_writable()

    async def check_free_space(self) -> None:
        await self._engine.check_free_space()

    async def prune(self, *, deleted_before: datetime) -> int:
        return await self._engine.prune(deleted_before=deleted_before)

    async def compact(self) -> Compacted:
        return await self._engine.compact()

    def export(self) -> AbstractAsyncContextManager[Export]:
        return self._engine.export()

    async def load(self, items: Sequence[StoredItem]) -> None:
        await self._engine.load(items)

    async def clear(self, *, records: bool = True, then: StoredRecord | None = None) -> None:
        await self._engine.clear(records=records, then=then)

    async def close(self) -> None:
        await self._engine.close()


class InterruptedEngine(ProbingEngine):
    """Does something of the test's choice right before each commit that ends a message."""

    def __init__(self, engine: Engine, *interrupts: Callable[[], Awaitable[object]]) -> None:
        super().__init__(engine)
        self._interrupts = list(interrupts)

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        is_last = any(isinstance(operation, Acknowledge) for operation in operations)
        if is_last and self._interrupts:
            await self._interrupts.pop(0)()
        return await super().commit(operations)


class MeanwhileEngine(ProbingEngine):
    """Does what the test wants once, right before the next commit."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def commit(self, operations: Sequence[Operation]) -> int | None:
        if self.meanwhile:
            act, self.meanwhile = self.meanwhile, None
            await act()
        return await super().commit(operations)


async def overtaken(
    env: WorkerEnv, slow: Callable[[], Awaitable[object]], fast: Callable[[], Awaitable[object]]
) -> list[VskillError]:
    """Run *slow*, and *fast* right before its first commit; return what was refused."""
    refused: list[VskillError] = []

    async def attempt(change: Callable[[], Awaitable[object]]) -> None:
        try:
            await change()
        except VskillError as error:
            refused.append(error)

    engine = MeanwhileEngine(env.engine)
    engine.meanwhile = lambda: attempt(fast)
    await run_with_worker_env(replace(env, engine=engine), lambda: attempt(slow))
    assert engine.meanwhile is None
    return refused
