"""Commands of the real program, each in its own process, forked from one that has loaded it.

A test of the start itself runs the installed program instead.
"""

import atexit
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO

import msgspec

from tests.acceptance.forked_program import Order
from tests.acceptance.processes import PATIENCE_SECONDS, Finished

_ROOT = Path(__file__).parents[2]


@cache
def loaded_program() -> "LoadedProgram":
    """Return the one of all test processes: to load it takes longer than most tests."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    address = Path(gettempdir()) / f"vskill-program-{run}"
    orders = socket.socket(socket.AF_UNIX)
    atexit.register(orders.close)
    with Path(f"{address}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            orders.connect(str(address))
        except (FileNotFoundError, ConnectionRefusedError):
            address.unlink(missing_ok=True)
            _load(address)
            orders.connect(str(address))
    return LoadedProgram(orders)


def _load(address: Path) -> None:
    """Start a process that loads the program. It ends with the last process of the tests."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        listener.set_inheritable(True)
        nothing = os.open(os.devnull, os.O_RDWR)
        module = "tests.acceptance.forked_program"
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-P", "-m", module, str(listener.fileno())],
            {**os.environ, "PYTHONPATH": str(_ROOT)},
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1)],
        )
        os.close(nothing)


class LoadedProgram:
    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders

    def run(self, order: Order, *, patience: float) -> Finished:
        """Run one command to its end."""
        with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
            process = self._fork(order, out.fileno(), err.fileno())
            try:
                code = process.wait(patience)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait(patience)
                raise
            out.seek(0)
            err.seek(0)
            return Finished(code, out.read(), err.read())

    def start(self, order: Order, stderr: int | None = None) -> "Forked":
        """Start a command that runs in the background; *stderr* is its standard error."""
        if stderr is None:
            reader, writer = os.pipe()
            with closing(os.fdopen(writer, "wb")):
                process = self.start(order, writer)
            process.stderr = os.fdopen(reader)
            return process
        reader, out = os.pipe()
        process = self._fork(order, out, stderr)
        os.close(out)
        process.stdout = os.fdopen(reader)
        return process

    def _fork(self, order: Order, out: int, err: int) -> "Forked":
        ours, theirs = socket.socketpair()
        with closing(theirs):
            socket.send_fds(self._orders, [b"!"], [theirs.fileno(), out, err])
        return Forked(ours, order)


class Forked:
    """A command, with as much of a Popen as the tests use."""

    def __init__(self, channel: socket.socket, order: Order) -> None:
        self.stdout: IO[str] | None = None
        self.stderr: IO[str] | None = None
        self._channel = channel
        self._heard = b""
        self._code: int | None = None
        channel.sendall(msgspec.json.encode(order))
        channel.shutdown(socket.SHUT_WR)
        self.pid = self._read_number(PATIENCE_SECONDS)

    def poll(self) -> int | None:
        if self._code is None and select.select([self._channel], [], [], 0)[0]:
            self.wait(PATIENCE_SECONDS)
        return self._code

    def wait(self, timeout: float) -> int:
        if self._code is None:
            self._code = self._read_number(timeout)
            self._channel.close()
        return self._code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _read_number(self, timeout: float) -> int:
        self._channel.settimeout(timeout)
        try:
            while b"\n" not in self._heard:
                piece = self._channel.recv(100)
                assert piece, "the loaded program has ended"
                self._heard += piece
        except TimeoutError as error:
            self._channel.close()  # else its warning makes a later test fail
            raise subprocess.TimeoutExpired("vskill-platform", timeout) from error
        line, _, self._heard = self._heard.partition(b"\n")
        return int(line)
