"""Run third-party programs with limits, and kill them with all processes they started.

`base/off_loop.py` says when to use this. Arguments are a list, never a shell command.
"""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from vskill_platform.base.process_limits import limit_child

_BUFFERED_BYTES: Final = 65_536  # reading pauses while twice this is buffered


class Streams(msgspec.Struct, frozen=True, kw_only=True):
    """Where a program reads from and writes to: a file, PIPE, or nothing."""

    stdin: int | IO[bytes] = DEVNULL
    stdout: int | IO[bytes] = DEVNULL
    stderr: int | IO[bytes] = DEVNULL


class ProgramLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How large a file it may write, and how much memory each of its processes may have."""

    file_bytes: int | None = None
    memory_bytes: int | None = None


class CannotStart(OSError):
    """The program is missing or not executable, or the system cannot start another process."""


@asynccontextmanager
async def running_program(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    streams: Streams,
    limits: ProgramLimits,
) -> AsyncIterator[Process]:
    """Start a program in its own process group; the whole group is killed at the end.

    The group is killed even if the program has ended, so that its children do not outlive it. If it
    cannot be started, CannotStart is raised, not another OSError.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_BUFFERED_BYTES, loop=loop),
            *command,
            env=env,
            cwd=cwd,
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(error.errno, error.strerror) from error
    process = Process(transport, protocol, loop)
    try:
        limit_child(process.pid, file_bytes=limits.file_bytes, memory_bytes=limits.memory_bytes)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _close_pipes(transport)
        await process.wait()


def _close_pipes(transport: asyncio.SubprocessTransport) -> None:
    """Close our ends of the pipes, because wait() also waits for them.

    A pipe that we no longer read, or that a process outside the group holds open, never ends by
    itself. (transport.close() would take the exit status from the caller that waits for it.)
    """
    for number in range(3):
        pipe = transport.get_pipe_transport(number)
        if pipe is None or pipe.is_closing():
            continue
        if isinstance(pipe, asyncio.WriteTransport):
            pipe.abort()
        else:
            pipe.close()
