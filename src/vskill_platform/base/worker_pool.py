"""Work on hostile data in processes that can be killed: one that breaks spoils nothing but its own.

A worker that hangs is killed, one that eats memory or processor time is ended by the system, and
one that fails tells why and ends. Each is replaced by a fresh one, so that the outcome of a piece
of work never depends on what was done before it.
"""

import gc
import multiprocessing
import os
import resource
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from vskill_platform.errors import VskillError

Item = TypeVar("Item")
#: Called in a worker; what it returns comes back as it is. Bytes, because a process that has read
#: hostile data must not be able to make us build objects of its choice, as a pickle would.
Work = Callable[[Item], bytes]

# Forked, not spawned: a worker starts in milliseconds with all modules loaded and all items in
# reach. Nothing here starts a thread, which is what makes forking safe.
_FORK = multiprocessing.get_context("fork")
#: How many pieces of work wait inside of a worker, so that it never waits for us.
_AHEAD = 4
#: A worker is replaced after so many, so that nothing adds up.
_MAX_PIECES = 500
_DONE, _BROKEN = b"+", b"-"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What one piece of work may cost."""

    seconds: float = 30.0
    memory_bytes: int = 1024 * 1024 * 1024


class Failure(msgspec.Struct, frozen=True):
    reason: str


Outcome = bytes | Failure


def run_in_workers(
    work: Work[Item], items: Sequence[Item], *, processes: int, bounds: Bounds
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each piece of work, in the order of *items*, as soon as it is known."""
    gc.freeze()  # what the workers share with us stays shared
    pool = _Pool(work, items, bounds)
    outcomes: dict[int, Outcome] = {}
    try:
        pool.start(min(processes, len(items)))
        for number in range(len(items)):
            while number not in outcomes:
                outcomes.update(pool.next_outcomes())
            yield outcomes.pop(number)
    finally:
        pool.end()
        gc.unfreeze()


class _Pool(Generic[Item]):
    def __init__(self, work: Work[Item], items: Sequence[Item], bounds: Bounds) -> None:
        self._work, self._items, self._bounds = work, items, bounds
        self._todo = deque(range(len(items)))
        self._workers: list[_Worker] = []

    def start(self, processes: int) -> None:
        for _ in range(processes):
            self._add_worker()

    def end(self) -> None:
        for worker in self._workers:
            worker.kill()

    def next_outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Wait until something happens to at least one worker."""
        deadline = min(worker.busy_since for worker in self._workers) + self._bounds.seconds
        ends = {worker.connection: worker for worker in self._workers}
        ready = wait(list(ends), max(deadline - time.monotonic(), 0))
        for end in ready:
            yield from self._hear(ends[end])  # type: ignore[index] # they are what went in
        for worker in [ends[end] for end in ends if end not in ready]:
            if worker.pending and worker.busy_since + self._bounds.seconds <= time.monotonic():
                worker.kill()
                yield (
                    worker.pending.popleft(),
                    Failure(f"it took longer than {self._bounds.seconds:g} seconds"),
                )
                self._replace(worker)

    def _hear(self, worker: "_Worker") -> Iterator[tuple[int, Outcome]]:
        message = worker.hear()
        if message[:1] == _DONE:
            yield worker.pending.popleft(), message[1:]
            worker.pieces += 1
            self._supply(worker)
            return
        worker.kill()
        # A worker that had done other work may have broken because of that: it is tried afresh.
        if worker.pending and not worker.pieces:
            reason = message[1:].decode(errors="replace") or worker.how_it_ended()
            yield worker.pending.popleft(), Failure(reason)
        self._replace(worker)

    def _supply(self, worker: "_Worker") -> None:
        """Give the worker more to do, or let it go when it has done enough."""
        is_old = worker.pieces + len(worker.pending) >= _MAX_PIECES
        while self._todo and len(worker.pending) < _AHEAD and not is_old:
            worker.tell(self._todo.popleft())
        if not worker.pending:
            worker.kill()
            self._replace(worker)

    def _replace(self, worker: "_Worker") -> None:
        self._workers.remove(worker)
        self._todo.extendleft(reversed(worker.pending))
        if self._todo:
            self._add_worker()

    def _add_worker(self) -> None:
        ours, theirs = _FORK.Pipe()
        foreign = [ours, *(worker.connection for worker in self._workers)]
        process = _FORK.Process(
            target=_serve,
            args=(theirs, foreign, self._work, self._items, self._bounds),
            daemon=True,
        )
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        self._supply(worker)


class _Worker:
    """Our end of a process that answers what it is told, in order."""

    def __init__(
        self, process: multiprocessing.process.BaseProcess, connection: Connection
    ) -> None:
        self.connection = connection
        #: Numbers of the pieces that it was given; it works on the first.
        self.pending: deque[int] = deque()
        self.pieces = 0
        self.busy_since = time.monotonic()
        self._process = process

    def tell(self, number: int) -> None:
        if not self.pending:
            self.busy_since = time.monotonic()
        self.pending.append(number)
        with suppress(OSError):  # it has died: that is heard in a moment
            self.connection.send_bytes(number.to_bytes(8))

    def hear(self) -> bytes:
        """Return what it says, or nothing if it has ended."""
        self.busy_since = time.monotonic()
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return b""

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    def how_it_ended(self) -> str:
        code = self._process.exitcode or 0
        if code == -signal.SIGXCPU:
            return "it took too much processor time"
        return f"the process ended with {signal.Signals(-code).name if code < 0 else code}"


def _serve(
    connection: Connection,
    foreign: Sequence[Connection],
    work: Work[Item],
    items: Sequence[Item],
    bounds: Bounds,
) -> None:
    """Answer until the other end is closed; runs in the worker."""
    for other in foreign:  # else the worker would not notice that we have gone
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for us, and we kill the workers
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (bounds.memory_bytes, resource.RLIM_INFINITY))
    with _LastWords(connection):
        while (number := _next_number(connection)) is not None:
            cpu = int(time.process_time() + bounds.seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
            connection.send_bytes(_DONE + work(items[number]))


def _next_number(connection: Connection) -> int | None:
    try:
        return int.from_bytes(connection.recv_bytes())
    except EOFError:
        return None


class _LastWords:
    """Whatever ends a worker, it says why first; there is nothing to go on with afterwards."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            reason = str(error) if isinstance(error, VskillError) else f"it broke down: {error!r}"
            with suppress(OSError):
                self._connection.send_bytes(_BROKEN + reason.encode(errors="backslashreplace"))
        os._exit(0 if error is None else 1)
