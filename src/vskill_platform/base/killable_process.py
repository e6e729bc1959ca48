"""Run Python functions on hostile data in long-lived processes that can be killed.

`base/off_loop.py` says when to use this. The functions run in child processes that stay for the
next call, because starting one takes half a second. A request is a pickle, because it comes from
this program. The answer is msgpack, decoded as the return type of the function: a process that has
read hostile data must not be able to make us build arbitrary objects, as a pickle could.

docs/decisions/0024 says why this is not `anyio.to_process`.
"""

import asyncio
import atexit
import functools
import math
import os
import pickle
import sys
import time
import traceback
import typing
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from anyio import CapacityLimiter

from vskill_platform import errors
from vskill_platform.base.metrics import count_killed
from vskill_platform.base.process_limits import limit_cpu, limit_memory
from vskill_platform.base.python_process import parent_socket, start_python
from vskill_platform.errors import Busy, VskillError

Result = TypeVar("Result")

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_SECONDS = 30
#: How long a visitor waits once the work has a slot. A timeout is not blamed on the data, because
#: on a busy machine everything is slow.
MAX_WAIT_SECONDS = 120
#: A process that has been idle for this long is ended to free its memory.
_MAX_IDLE_SECONDS = 300
#: How often work is given to another process if the first one ended before it started.
_MAX_STARTS = 3
_MAX_ANSWER_BYTES = 256 * 1024 * 1024
_LENGTH_BYTES = 8
_CHUNK = 256 * 1024


class ProcessDied(Exception):
    """The process ended without an answer: it crashed, or the system killed it at a limit."""


#: The errors of work that exceeded its limits.
BROKE_DOWN = (ProcessDied, MemoryError, RecursionError)


class _NotStarted(Exception):
    """The process ended before it read the request, so the work is not to blame."""


class _Failure(msgspec.Struct, frozen=True):
    """An exception of the work, in a form from which nothing but an exception can be built."""

    kind: str
    message: str
    errno: int | None = None
    traceback: str = ""


class _Request(typing.NamedTuple):
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_seconds: float
    memory_bytes: int


async def run_in_process(
    work: Callable[..., Result],
    *arguments: object,
    cpu_seconds: float | None = None,
    memory_bytes: int | None = None,
) -> Result:
    """Run *work*, which must be importable, elsewhere; raise its errors or one of BROKE_DOWN.

    Cancelling the task kills the process. The caller bounds how many run at once. The time limit
    is processor time, so the same work ends the same way on a busy machine.
    """
    request = pickle.dumps(
        _Request(work, arguments, cpu_seconds or MAX_CPU_SECONDS, memory_bytes or MAX_MEMORY_BYTES),
        pickle.HIGHEST_PROTOCOL,
    )
    for _ in range(_MAX_STARTS):
        process, is_reusable = _take_process(), False
        try:
            result = _read_answer(await process.ask(request), work)
            is_reusable = True
        except _NotStarted:
            continue
        except VskillError:
            is_reusable = True
            raise
        finally:
            # Otherwise (cancelled, broken down, an unreadable answer) the process is ended: nothing
            # left in its memory or in the socket may reach the next call.
            if is_reusable:
                _keep(process)
            else:
                error = sys.exc_info()[1]
                is_cancelled = isinstance(error, asyncio.CancelledError)
                count_killed("cancelled" if is_cancelled else "broke down")
                await process.kill()
        return result
    raise ProcessDied("the worker processes exit as soon as they start")


async def run_for_visitor(
    work: Callable[..., Result],
    *arguments: object,
    limiter: CapacityLimiter | None = None,
    cpu_seconds: float | None = None,
) -> Result:
    """Run *work* in a process while a visitor waits; raise Busy if that takes too long.

    Without a *limiter*, one such call per processor runs at a time and the others wait.
    """
    async with limiter or VISITORS:
        limit = asyncio.timeout(MAX_WAIT_SECONDS)
        try:
            async with limit:
                return await run_in_process(work, *arguments, cpu_seconds=cpu_seconds)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise Busy("this server is too busy to finish it in time; try again later") from error


#: The slots of `run_for_visitor` without a limiter.
VISITORS = CapacityLimiter(os.cpu_count() or 2)


class _Process:
    def __init__(self) -> None:
        self._socket, self._child = start_python(serve_requests)
        self.idle_since = 0.0

    async def ask(self, request: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        answer = bytearray()
        try:
            await loop.sock_sendall(self._socket, len(request).to_bytes(_LENGTH_BYTES) + request)
            end = _LENGTH_BYTES
            while len(answer) < end:
                chunk = await loop.sock_recv(self._socket, _CHUNK)
                if not chunk:
                    raise ProcessDied("the process ended without an answer")
                answer += chunk
                if len(answer) >= _LENGTH_BYTES:
                    end = _LENGTH_BYTES + int.from_bytes(answer[:_LENGTH_BYTES])
                if end > _MAX_ANSWER_BYTES:
                    raise ProcessDied("the answer of the process is too long")
        except (BrokenPipeError, ConnectionResetError) as error:  # before it read our request
            raise _NotStarted from error
        return bytes(answer[_LENGTH_BYTES:])

    async def kill(self) -> None:
        """End the process and wait until it is gone, even if the caller is being cancelled."""
        self._child.kill()
        self._socket.close()
        # In a thread: the system may take a while to free a gigabyte.
        await asyncio.shield(asyncio.to_thread(self._child.wait))

    def kill_at_once(self) -> None:
        self._child.kill()
        self._socket.close()
        self._child.wait()


#: Processes with nothing to do, the longest idle first. They belong to no event loop.
_idle: deque[_Process] = deque()


def _take_process() -> _Process:
    try:
        return _idle.pop()
    except IndexError:
        return _Process()


def _keep(process: _Process) -> None:
    process.idle_since = time.monotonic()
    _idle.append(process)
    while len(_idle) > 1 and process.idle_since - _idle[0].idle_since > _MAX_IDLE_SECONDS:
        _idle.popleft().kill_at_once()


@atexit.register
def _end_idle_processes() -> None:
    while _idle:
        _idle.pop().kill_at_once()


def _read_answer(answer: bytes, work: Callable[..., Result]) -> Result:
    try:
        if answer[:1] == _DONE:
            result: Result = _decoder(work).decode(answer[1:])
            return result
        failure = _FAILURES.decode(answer[1:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProcessDied("the answer of the process cannot be read") from error
    raise _as_error(failure)


_DONE, _FAILED = b"+", b"-"
_FAILURES = msgspec.msgpack.Decoder(_Failure)


@functools.cache
def _decoder(work: Callable[..., Any]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(typing.get_type_hints(work)["return"])


def _as_error(failure: _Failure) -> Exception:
    kind = getattr(errors, failure.kind, None)
    if isinstance(kind, type) and issubclass(kind, VskillError):
        error = kind.__new__(kind, failure.message)
        error.args = (failure.message,)
        return error
    match failure.kind:
        case "MemoryError":
            return MemoryError(failure.message)
        case "RecursionError":
            return RecursionError(failure.message)
        case "OSError":
            return OSError(failure.errno, failure.message)
    return RuntimeError(f"{failure.kind}: {failure.message}\n{failure.traceback}")


def serve_requests() -> None:
    """Answer requests one by one; runs in the child until the parent closes its end."""
    with parent_socket() as ours, ours.makefile("rb") as requests:
        while head := requests.read(_LENGTH_BYTES):
            answer = _answer(requests.read(int.from_bytes(head)))
            ours.sendall(len(answer).to_bytes(_LENGTH_BYTES) + answer)


class _Answer:
    """The answer to a request: the result, or the exception that ended the work."""

    content = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> bool:
        if isinstance(error, Exception):  # anything else ends this process
            self.content = _FAILED + msgspec.msgpack.encode(_as_failure(error))
        return isinstance(error, Exception)


def _answer(message: bytes) -> bytes:
    with _Answer() as answer:
        request: _Request = pickle.loads(message)  # noqa: S301 - our own request
        limit_cpu(math.ceil(time.process_time() + request.cpu_seconds))
        limit_memory(request.memory_bytes)
        answer.content = _DONE + msgspec.msgpack.encode(request.work(*request.arguments))
    return answer.content


def _as_failure(error: Exception) -> _Failure:
    kind = "OSError" if isinstance(error, OSError) else type(error).__name__
    message = error.strerror if isinstance(error, OSError) else str(error)
    return _Failure(
        kind=kind,
        message=str(message).encode(errors="backslashreplace").decode(),
        errno=error.errno if isinstance(error, OSError) else None,
        traceback="".join(traceback.format_exception(error))
        .encode(errors="backslashreplace")
        .decode(),
    )
