"""A cancelled program ends, whatever it has printed and whichever process holds its pipes."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE

import pytest

from vskill_platform.base.program import CannotStart, ProgramLimits, Streams, running_program

FILL_AND_WAIT = """
import os, signal
os.write(2, b"started")
waiting = memoryview(bytes(131_073))  # one byte more than is kept before a pipe is read no further
while waiting:
    waiting = waiting[os.write(1, waiting):]
os.write(2, b"!")
signal.pause()
"""

LEAVE_A_CHILD_BEHIND = """
import os, signal
if os.fork() == 0:
    os.setsid()
    os.write(1, b"%d " % os.getpid())
    signal.pause()
"""


async def test_a_program_whose_output_nobody_reads_is_ended() -> None:
    async with (
        asyncio.timeout(60),
        running_program(
            [sys.executable, "-c", FILL_AND_WAIT],
            env=os.environ,
            streams=Streams(stdout=PIPE, stderr=PIPE),
            limits=ProgramLimits(),
        ) as process,
    ):
        assert process.stderr is not None
        await process.stderr.readexactly(len(b"started!"))

    assert process.returncode == -9


async def test_a_process_outside_the_group_that_keeps_the_pipe_open_holds_nobody_up() -> None:
    async with (
        asyncio.timeout(60),
        running_program(
            [sys.executable, "-c", LEAVE_A_CHILD_BEHIND],
            env=os.environ,
            streams=Streams(stdout=PIPE),
            limits=ProgramLimits(),
        ) as process,
    ):
        assert process.stdout is not None
        left_behind = int(await process.stdout.readuntil(b" "))
    try:
        assert process.returncode is not None
    finally:
        os.kill(left_behind, 9)


async def test_a_program_that_is_not_there_cannot_start() -> None:
    with pytest.raises(CannotStart):
        async with running_program(
            ["/nowhere/program"], env={}, streams=Streams(stdout=PIPE), limits=ProgramLimits()
        ):
            pass
