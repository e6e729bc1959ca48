"""Batch concurrent calls into one.

Each caller awaits its own result; for all waiting callers, the database sees one query, or one
transaction with one fsync.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batcher(Generic[Item, Result]):
    def __init__(
        self,
        run: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception]]],
        *,
        max_batch: int,
        at_once: int,
        max_bytes: int | None = None,
        measure: Callable[[Sequence[Result | BaseException], float], None] | None = None,
    ) -> None:
        self._run = run
        self._max_batch = max_batch
        self._max_bytes = max_bytes
        self._idle = at_once
        self._measure = measure
        self._loop = asyncio.get_running_loop()
        # Two lists instead of pairs: there are very many, and the garbage collector would visit
        # each pair.
        self._items: list[Item] = []
        self._answers: list[asyncio.Future[Result]] = []
        #: The size of each item in bytes, and their total.
        self._sizes: list[int] = []
        self._bytes = 0
        self._flush_planned = False
        self._running: set[asyncio.Future[Sequence[Result | Exception]]] = set()

    def submit(self, item: Item, *, size: int = 0) -> asyncio.Future[Result]:
        """Return the result of *item*, which has *size* bytes if those are limited."""
        answer: asyncio.Future[Result] = self._loop.create_future()
        self._items.append(item)
        self._answers.append(answer)
        if self._max_bytes is not None:
            self._sizes.append(size)
            self._bytes += size
        if self._idle and not self._flush_planned:
            # Deferred, so that other calls in this turn of the loop join the batch.
            self._flush_planned = True
            self._loop.call_soon(self._flush)
        return answer

    def refuse(self, error: Exception) -> asyncio.Future[Result]:
        """Fail one call without affecting the others."""
        answer: asyncio.Future[Result] = self._loop.create_future()
        answer.set_exception(error)
        return answer

    async def drain(self) -> None:
        """Wait until nothing is waiting or running."""
        while self._running or self._items:
            await asyncio.wait(self._running) if self._running else await asyncio.sleep(0)

    def _flush(self) -> None:
        self._flush_planned = False
        while self._items and self._idle:
            count = self._max_batch if self._max_bytes is None else self._take(self._max_bytes)
            items, answers = self._items[:count], self._answers[:count]
            del self._items[:count], self._answers[:count]
            if any(map(asyncio.Future.done, answers)):  # the caller was cancelled
                left = [number for number, answer in enumerate(answers) if not answer.done()]
                items, answers = [items[at] for at in left], [answers[at] for at in left]
                if not left:
                    continue
            self._idle -= 1
            self._running.add(running := asyncio.ensure_future(self._run(items)))
            running.add_done_callback(partial(self._settle, answers, time.perf_counter()))

    def _take(self, max_bytes: int) -> int:
        """Return how many items go next: at least one, and no more bytes than the limit."""
        count, taken = min(self._max_batch, len(self._sizes)), self._bytes
        if count < len(self._sizes) or taken > max_bytes:
            taken = 0
            for number, size in enumerate(self._sizes[:count]):
                if number and taken + size > max_bytes:
                    count = number
                    break
                taken += size
        del self._sizes[:count]
        self._bytes -= taken
        return count

    def _settle(
        self,
        answers: list[asyncio.Future[Result]],
        started: float,
        done: asyncio.Future[Sequence[Result | Exception]],
    ) -> None:
        self._running.discard(done)
        self._idle += 1
        self._flush()
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        outcomes: Sequence[Result | BaseException] = (
            [error] * len(answers) if error else done.result()
        )
        if self._measure:
            self._measure(outcomes, time.perf_counter() - started)
        for answer, outcome in zip(answers, outcomes, strict=True):
            if answer.done():  # its caller was cancelled
                continue
            if isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
