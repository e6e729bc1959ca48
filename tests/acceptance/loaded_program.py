"""Commands of the real program, each in a process of its own, forked from one that has loaded it.

A test that is about the start itself, or about a process that goes on, starts the program anew.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from tests.acceptance.forked_program import Order
from tests.acceptance.processes import Finished

_ROOT = Path(__file__).parents[2]


@cache
def loaded_program() -> "LoadedProgram":
    """Return the one of all tests in this process: to load it takes longer than most of them."""
    program = LoadedProgram()
    atexit.register(program.end)
    return program


class LoadedProgram:
    def __init__(self) -> None:
        self._orders, theirs = socket.socketpair()
        with closing(theirs):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.acceptance.forked_program", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=_ROOT,
                pass_fds=[theirs.fileno()],
            )

    def run(self, order: Order, *, patience: float) -> Finished:
        """Run one command to its end."""
        ours, theirs = socket.socketpair()
        with closing(ours), TemporaryFile("w+") as out, TemporaryFile("w+") as err:
            with closing(theirs):
                streams = [stream.fileno() for stream in (theirs, out, err)]
                socket.send_fds(self._orders, [b"!"], streams)
            ours.settimeout(patience)
            code = _follow(ours, order)
            out.seek(0)
            err.seek(0)
            return Finished(code, out.read(), err.read())

    def end(self) -> None:
        self._orders.close()
        self._process.wait()


def _follow(channel: socket.socket, order: Order) -> int:
    channel.sendall(msgspec.json.encode(order))
    channel.shutdown(socket.SHUT_WR)
    with channel.makefile("rb") as lines:
        pid = int(lines.readline())
        try:
            return int(lines.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
