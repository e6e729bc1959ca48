"""Run many pieces of work on hostile data in forked processes that can be killed.

For commands without an event loop or threads; `base/off_loop.py` says when to use this. A worker
that hangs is killed, one that uses too much memory or processor time is ended by the system, and
one that fails reports why and ends. Each is replaced by a new one, so that the result of a piece of
work never depends on the work before it.
"""

import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from vskill_platform.base.process_limits import forbid_core_dumps, limit_cpu, limit_memory
from vskill_platform.errors import VskillError

Item = TypeVar("Item")
#: Called in a worker. It returns bytes, because a process that has read hostile data must not be
#: able to make us build arbitrary objects, as a pickle could.
Work = Callable[[Item], bytes]

#: How many pieces of work a worker has queued, so that it never waits for the parent.
_AHEAD = 4
#: A worker is replaced after this many pieces of work, so that leaks do not add up.
_MAX_PIECES = 500
#: The size in bytes of a number: the number of a piece of work, or the length before an answer.
_NUMBER = 8
#: A longer answer is an error.
_MAX_ANSWER_BYTES = 256 * 1024 * 1024
#: The capacity of a pipe.
_CHUNK = 64 * 1024
_DONE, _BROKEN, _GONE = b"+", b"-", b""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one piece of work."""

    seconds: float = 30.0
    memory_bytes: int = 1024 * 1024 * 1024


class Failure(msgspec.Struct, frozen=True):
    reason: str


WorkResult = bytes | Failure


def run_in_workers(
    work: Work[Item], items: Sequence[Item], *, processes: int, bounds: Bounds
) -> Generator[WorkResult, None, None]:
    """Yield the outcome of each piece of work, in the order of *items*, as soon as it is known."""
    pool = _Pool(work, items, bounds)
    outcomes: dict[int, WorkResult] = {}
    try:
        pool.start(min(processes, len(items)))
        for number in range(len(items)):
            while number not in outcomes:
                outcomes.update(pool.next_outcomes())
            yield outcomes.pop(number)
    finally:
        pool.end()


class _Pool(Generic[Item]):
    def __init__(self, work: Work[Item], items: Sequence[Item], bounds: Bounds) -> None:
        self._work, self._items, self._bounds = work, items, bounds
        self._todo = deque(range(len(items)))
        self._workers: list[_Worker] = []
        self._processes = 0

    def start(self, processes: int) -> None:
        self._processes = processes
        for _ in range(processes):
            self._add_worker()

    def end(self) -> None:
        for worker in self._workers:
            worker.kill()

    def next_outcomes(self) -> Iterator[tuple[int, WorkResult]]:
        """Wait until something happens to at least one worker."""
        deadline = min(worker.busy_since for worker in self._workers) + self._bounds.seconds
        ready = self._wait(max(deadline - time.monotonic(), 0))
        for worker in list(self._workers):
            if worker.answers in ready:
                yield from self._receive(worker)
            elif worker.pending and worker.busy_since + self._bounds.seconds <= time.monotonic():
                worker.kill()
                yield (
                    worker.pending.popleft(),
                    Failure(f"it took longer than {self._bounds.seconds:g} seconds"),
                )
                self._replace(worker)

    def _wait(self, seconds: float) -> set[int]:
        """Return the descriptors of the workers that have answered or ended."""
        poll = select.poll()
        for worker in self._workers:
            poll.register(worker.answers, select.POLLIN)
        return {end for end, _ in poll.poll(int(seconds * 1000) + 1)}

    def _receive(self, worker: "_Worker") -> Iterator[tuple[int, WorkResult]]:
        for message in worker.receive():
            if message[:1] != _DONE or not worker.pending:
                yield from self._drop(worker, message)
                return
            yield worker.pending.popleft(), message[1:]
            worker.pieces += 1
        self._supply(worker)

    def _drop(self, worker: "_Worker", message: bytes) -> Iterator[tuple[int, WorkResult]]:
        worker.kill()
        # Work that the worker did before may be the reason: try again in a new one.
        if worker.pending and not worker.pieces:
            reason = message[1:].decode(errors="replace") or worker.how_it_ended()
            yield worker.pending.popleft(), Failure(reason)
        self._replace(worker)

    def _supply(self, worker: "_Worker") -> None:
        """Give the worker more to do, or end it when it has done enough."""
        is_old = worker.pieces + len(worker.pending) >= _MAX_PIECES
        # The last pieces are spread over the workers, so that none is idle while another has a
        # queue.
        while self._todo and not is_old and len(worker.pending) < self._share():
            worker.send(self._todo.popleft())
        if not worker.pending:
            worker.kill()
            self._replace(worker)

    def _share(self) -> int:
        return min(_AHEAD, 1 + len(self._todo) // (2 * self._processes))

    def _replace(self, worker: "_Worker") -> None:
        self._workers.remove(worker)
        self._todo.extendleft(reversed(worker.pending))
        if self._todo:
            self._add_worker()

    def _add_worker(self) -> None:
        their_orders, our_orders = os.pipe()
        our_answers, their_answers = os.pipe()
        foreign = [end for worker in self._workers for end in (worker.orders, worker.answers)]
        # Forked, not spawned: a worker starts in milliseconds, with all modules and items already
        # in memory. Forking is safe because nothing here starts a thread.
        process = os.fork()
        if not process:
            try:
                self._serve(their_orders, their_answers, [our_orders, our_answers, *foreign])
            finally:  # a worker must never continue with the parent's code
                os._exit(1)
        os.close(their_orders)
        os.close(their_answers)
        worker = _Worker(process, our_orders, our_answers)
        self._workers.append(worker)
        self._supply(worker)

    def _serve(self, orders: int, answers: int, foreign: Sequence[int]) -> None:
        """Answer requests until the parent closes its end; runs in the worker."""
        with _ErrorReport(answers):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
            for other in foreign:  # else the worker would not notice that the parent has ended
                os.close(other)
            bounds = self._bounds
            forbid_core_dumps()
            limit_memory(bounds.memory_bytes)
            while order := os.read(orders, _NUMBER):
                limit_cpu(int(time.process_time() + bounds.seconds) + 1)
                _send(answers, _DONE + self._work(self._items[int.from_bytes(order)]))


class _Worker:
    """The parent's side of a worker process, which answers its requests in order."""

    def __init__(self, process: int, orders: int, answers: int) -> None:
        self.orders, self.answers = orders, answers
        #: The numbers of its pieces of work; it works on the first.
        self.pending: deque[int] = deque()
        self.pieces = 0
        self.busy_since = time.monotonic()
        self._process, self._exit_code = process, 0
        self._received = bytearray()

    def send(self, number: int) -> None:
        if not self.pending:
            self.busy_since = time.monotonic()
        self.pending.append(number)
        with suppress(OSError):  # it has died; the next read reports that
            os.write(self.orders, number.to_bytes(_NUMBER))

    def receive(self) -> list[bytes]:
        """Return its complete answers; if the worker has ended, the last one says so."""
        chunk = os.read(self.answers, _CHUNK)
        is_first = not self._received  # the rest of an answer may take as long as the work
        self._received += chunk
        messages = list(self._messages())
        if messages or is_first:
            self.busy_since = time.monotonic()
        return messages if chunk else [*messages, _GONE]

    def _messages(self) -> Iterator[bytes]:
        while len(self._received) >= _NUMBER:
            length = int.from_bytes(self._received[:_NUMBER])
            if length > _MAX_ANSWER_BYTES:
                yield _BROKEN + b"its answer is too long"
                return
            end = _NUMBER + length
            if len(self._received) < end:
                return
            yield bytes(self._received[_NUMBER:end])
            del self._received[:end]

    def kill(self) -> None:
        if not self._process:
            return
        os.kill(self._process, signal.SIGKILL)
        _, status = os.waitpid(self._process, 0)
        self._process = 0  # from here on, the system may reuse the process id
        self._exit_code = os.waitstatus_to_exitcode(status)
        os.close(self.orders)
        os.close(self.answers)

    def how_it_ended(self) -> str:
        code = self._exit_code
        if code == -signal.SIGXCPU:
            return "it took too much processor time"
        return f"the process ended with {signal.Signals(-code).name if code < 0 else code}"


def _send(answers: int, message: bytes) -> None:
    rest = memoryview(len(message).to_bytes(_NUMBER) + message)
    while rest:
        rest = rest[os.write(answers, rest) :]


class _ErrorReport:
    """Reports the exception that ends a worker before the worker exits."""

    def __init__(self, answers: int) -> None:
        self._answers = answers

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            reason = str(error) if isinstance(error, VskillError) else f"it failed: {error!r}"
            with suppress(OSError):
                _send(self._answers, _BROKEN + reason.encode(errors="backslashreplace"))
        os._exit(0 if error is None else 1)
