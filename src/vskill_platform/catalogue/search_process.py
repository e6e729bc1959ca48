"""Run searches in a process of their own, so that they do not compete with the event loop.

In a thread, a search waits for the interpreter lock, and the event loop for the search. The process
only reads the index file. It is started by the first search; until it is ready, and whenever it
fails, searches run in threads of this process (docs/decisions/0066).
"""

import asyncio
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.python_process import PythonProcess, start_python
from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.answer_searches import (
    LENGTH_BYTES,
    READY,
    CountedResults,
    SearchAnswer,
    SearchRequest,
    answer_searches,
    framed,
)
from vskill_platform.catalogue.search_skills import Question

log = get_logger(__name__)

#: A process that does not answer for this long is ended.
_TIMEOUT_SECONDS = 20.0
#: The time from one start to the next, and its maximum. It is doubled each time, because a search
#: may have ended the process.
_RESTART_SECONDS, _MAX_RESTART_SECONDS = 2.0, 300.0
#: A process that ran for this long is started again at once.
_HEALTHY_SECONDS = 600.0
_ANSWERS = msgspec.msgpack.Decoder(SearchAnswer)
_encode = msgspec.msgpack.Encoder().encode


def is_worth_a_process() -> bool:
    """Return whether a server on this machine should search in a process of its own.

    With one core, both processes would wait for each other.
    """
    return (os.cpu_count() or 1) > 1


class NotSearched(Exception):
    """The search process has not answered, so the server has to search itself."""


class SearchProcess:
    """The search process of one index file, started again when it has ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: _Connection | None = None
        self._running: asyncio.Task[None] | None = None
        self._pause = _RESTART_SECONDS
        self._next_start = 0.0
        self._ready = asyncio.Event()
        #: The id of the process if it is ready.
        self.pid: int | None = None

    async def search(self, questions: Sequence[Question]) -> CountedResults:
        """Return the result of each question; raise NotSearched if the process cannot answer."""
        connection = self._connection
        if connection is None or not connection.is_ready:
            self._start_if_due()
            raise NotSearched("the process is not ready")
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await connection.ask(questions)
        except TimeoutError as error:
            log.warning("search process does not answer", seconds=_TIMEOUT_SECONDS)
            connection.close()
            raise NotSearched("the process does not answer") from error
        except UnicodeEncodeError as error:
            raise NotSearched("the text contains half of a surrogate pair") from error

    async def wait_until_started(self) -> bool:
        """Start a process unless there is one; return whether it is ready."""
        self._start_if_due()
        if self._running:
            ready = asyncio.ensure_future(self._ready.wait())
            await asyncio.wait([self._running, ready], return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
        return self.pid is not None

    async def close(self) -> None:
        """End the process, and start no other."""
        self._next_start = math.inf
        if self._running:
            self._running.cancel()
            await asyncio.wait([self._running])  # even if it failed, the index has to be closed

    def _start_if_due(self) -> None:
        now = time.monotonic()
        if (self._running and not self._running.done()) or now < self._next_start:
            return
        self._next_start = now + self._pause
        self._pause = min(self._pause * 2, _MAX_RESTART_SECONDS)
        self._running = asyncio.create_task(self._run(), name="search process")

    async def _run(self) -> None:
        """Start a process and wait for its end."""
        try:
            process = start_python(answer_searches, shows_errors=True)
        except OSError as error:
            log.warning("search process not started", error=str(error))
            return
        started = time.monotonic()
        try:
            await self._stay_connected(process)
        finally:
            self._connection = self.pid = None
            self._ready.clear()
            process.socket.close()
            process.child.kill()
            code = await work_in_thread(process.child.wait)
        log.warning("search process ended", exit_code=code)
        if time.monotonic() - started > _HEALTHY_SECONDS:
            self._next_start, self._pause = 0.0, _RESTART_SECONDS

    async def _stay_connected(self, process: PythonProcess) -> None:
        connection = self._connection = _Connection(self._path)
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: connection, sock=process.socket)
        try:
            await connection.ready.wait()
            if connection.is_ready:
                self.pid = process.child.pid
                self._ready.set()
            await connection.ended.wait()
        finally:
            connection.close()


class _Connection(asyncio.Protocol):
    """The socket to a process, and the searches that wait for an answer."""

    def __init__(self, path: Path) -> None:
        self.is_ready = False
        #: Whether the process has answered for the first time, or has ended.
        self.ready, self.ended = asyncio.Event(), asyncio.Event()
        self._path = path
        self._transport: asyncio.WriteTransport | None = None
        self._received = bytearray()
        self._waiting: dict[int, asyncio.Future[CountedResults]] = {}
        self._number = READY

    def ask(self, questions: Sequence[Question]) -> asyncio.Future[CountedResults]:
        number = self._number + 1
        message = framed(_encode(SearchRequest(number, list(questions))))
        if self._transport is None:
            raise NotSearched("the process is not connected")
        self._transport.write(message)
        self._number = number
        answer: asyncio.Future[CountedResults] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        return answer

    def close(self) -> None:
        """Stop at once; callers that wait get NotSearched."""
        self.is_ready = False
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(framed(bytes(self._path)))

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        start = LENGTH_BYTES
        while len(received) >= start:
            end = start + int.from_bytes(received[start - LENGTH_BYTES : start])
            if len(received) < end:
                break
            self._settle(_ANSWERS.decode(received[start:end]))
            start = end + LENGTH_BYTES
        del received[: start - LENGTH_BYTES]

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_ready = False
        self.ready.set()
        self.ended.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(NotSearched("the process has ended"))
        self._waiting.clear()

    def _settle(self, found: SearchAnswer) -> None:
        if found.number == READY:
            self.is_ready = True
            self.ready.set()
            return
        answer = self._waiting.pop(found.number)
        if answer.done():  # its caller was cancelled
            return
        if found.problem:
            log.info("search process could not answer", problem=found.problem)
            answer.set_exception(NotSearched(found.problem))
        else:
            answer.set_result(found.found)
