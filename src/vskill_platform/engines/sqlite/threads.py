"""Threads that own a connection each; results come back to the event loop.

An executor of the standard library would do, but its overhead (a lock and a second future per call)
takes longer than most queries.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import apsw

from vskill_platform.errors import EngineError, OutOfResources

Result = TypeVar("Result")
OnConnection = Callable[[apsw.Connection], Result]


class ConnectionThreads:
    def __init__(self, connections: Sequence[apsw.Connection], *, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._todo: SimpleQueue[_Piece[Any] | None] = SimpleQueue()
        self._connections = connections
        #: Work submitted after the last piece would wait forever.
        self._door = Lock()
        self._is_closed = False
        # Daemon threads do not keep a process alive that has not closed the engine.
        self._threads = [
            Thread(target=self._work, args=(connection,), name=f"{name}_{number}", daemon=True)
            for number, connection in enumerate(connections)
        ]
        self._start()

    def _start(self) -> None:
        started = 0
        try:
            for thread in self._threads:
                thread.start()
                started += 1
        except RuntimeError as error:  # no more threads, or no memory for the stack
            for _ in range(started):
                self._todo.put(None)
            raise OutOfResources(
                f"no more threads can be started ({error}); raise the limit of memory "
                "(`ulimit -v`, LimitAS=) or of threads (`ulimit -u`, TasksMax=)"
            ) from error

    def run(self, work: OnConnection[Result]) -> asyncio.Future[Result]:
        """Run *work* on a connection that is not used otherwise meanwhile."""
        answer: asyncio.Future[Result] = self._loop.create_future()
        with self._door:
            if self._is_closed:
                answer.set_exception(EngineError("the database is closed"))
            else:
                self._todo.put(_Piece(work, answer, self._loop))
        return answer

    def close(self, *, before_closing: OnConnection[None] | None = None) -> None:
        """Finish what was started, then close the connections."""
        with self._door:
            self._is_closed = True
            for _ in self._threads:
                self._todo.put(None)
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            if before_closing:
                before_closing(connection)
            connection.close()

    def _work(self, connection: apsw.Connection) -> None:
        while piece := self._todo.get():
            with piece:
                piece.result = piece.work(connection)
            del piece  # otherwise its result stays in memory until the next piece of work


class _Piece(Generic[Result]):
    """One piece of work; its caller always gets an outcome."""

    def __init__(
        self,
        work: OnConnection[Result],
        answer: asyncio.Future[Result],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.work = work
        self.result: Result | None = None
        self._answer = answer
        self._loop = loop

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        with suppress(RuntimeError):  # the loop is closed, so no one is waiting
            self._loop.call_soon_threadsafe(self._set_outcome, error)
        return True

    def _set_outcome(self, error: BaseException | None) -> None:
        if self._answer.done():  # the caller was cancelled
            return
        if error is None:
            self._answer.set_result(self.result)  # type: ignore[arg-type]  # set by the work
        else:
            self._answer.set_exception(error)
