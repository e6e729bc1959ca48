"""The real program, loaded once; every command is a fork of it. Started by `loaded_program`.

    python -m tests.acceptance.forked_program LISTENER

A fork is a process as any other: it has its own memory, files, clock and death, and it ends as the
program ends. All it does not have to do is to load the modules, which takes ten times as long as
most commands.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import cast

import msgspec

import vskill_platform
from tests.acceptance.signal_at_function import strike
from vskill_platform.base import killable_process
from vskill_platform.cli.main import main
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.scan.scan_skill import scan_skill
from vskill_platform.web.app import create_app

_DEMO = Path(__file__).parents[2] / "demo" / "csv-profile"
#: Commands that scan in a process of their own.
_SCANNING = frozenset({
    b"diff", b"discover", b"judge", b"publish", b"rescan", b"reviews", b"serve", b"similar",
    b"submit", b"work",
})  # fmt: skip


class Order(msgspec.Struct, frozen=True):
    """One command: what it is called with, and where."""

    #: The program and what it is told; as bytes, because not every path is text.
    arguments: list[bytes]
    environment: dict[str, str]
    folder: str
    #: The arguments for `signal_at_function`, if the command is to be killed or stopped.
    harm: list[str] = []


def load_everything() -> None:
    for module in pkgutil.walk_packages(vskill_platform.__path__, "vskill_platform."):
        importlib.import_module(module.name)
    scan_skill(_DEMO, None)  # compiles the patterns
    create_app(cast("WorkerEnv", None))  # loads what the framework loads when it is first used
    gc.freeze()  # what a fork has no need to look at, it need not copy either


class Commands:
    """Forks for each order that comes, and tells how each of its forks ended."""

    def __init__(self, listener: socket.socket) -> None:
        self._channels: dict[int, socket.socket] = {}
        self._deaths, deaths = os.pipe()
        os.set_blocking(deaths, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(deaths)
        self._listener = listener
        self._tests = [listener.accept()[0]]

    def wait_for_order(self) -> Order:
        """Return in a fork alone; end when no test process is left."""
        while self._tests:
            waiting: list[socket.socket | int] = [self._listener, self._deaths, *self._tests]
            ready, _, _ = select.select(waiting, [], [])
            if self._deaths in ready:
                os.read(self._deaths, 4096)
                self._report_ends()
            if self._listener in ready:
                self._tests.append(self._listener.accept()[0])
            for test in [test for test in self._tests if test in ready]:
                descriptors: list[int] = []
                with suppress(ConnectionResetError):  # the test process was killed
                    _, descriptors, _, _ = socket.recv_fds(test, 1, 3)
                if not descriptors:
                    self._tests.remove(test)
                elif order := self._fork(*descriptors):
                    return order
        for pid in self._channels:
            os.kill(pid, signal.SIGKILL)  # a failed test left it running
        address = Path(self._listener.getsockname())
        address.unlink()
        address.with_name(f"{address.name}.lock").unlink()
        sys.exit()

    def _report_ends(self) -> None:
        while self._channels:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._channels.pop(pid) as channel, suppress(BrokenPipeError):
                channel.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _fork(self, report: int, out: int, err: int) -> Order | None:
        channel = socket.socket(fileno=report)
        order = msgspec.json.decode(read_all(channel), type=Order)
        if pid := os.fork():
            os.close(out)
            os.close(err)
            self._channels[pid] = channel
            with suppress(BrokenPipeError):  # the test was ended meanwhile
                channel.sendall(b"%d\n" % pid)
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._deaths)
        for other in (self._listener, *self._tests, *self._channels.values(), channel):
            other.close()
        for descriptor, stream in ((out, sys.stdout), (err, sys.stderr)):
            os.dup2(descriptor, stream.fileno())
            os.close(descriptor)
        return order


def read_all(channel: socket.socket) -> bytes:
    with channel.makefile("rb") as file:
        return file.read()


def take_place(order: Order) -> None:
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Its own children load what they would load for the program as it is installed.
    del sys.path[0]
    if not _SCANNING.isdisjoint(order.arguments[1:3]):  # `admin rescan`, too
        fork_scanner()
    if order.harm:
        strike(*order.harm)
    sys.argv = [os.fsdecode(argument) for argument in order.arguments]
    sys.modules["__main__"].__file__ = sys.argv[0]


def fork_scanner() -> None:
    """Start the first process that scans as a fork, too: to load the scanner takes half a second.

    It is forked before the command has threads. Others are started as they always are.
    """
    ours, theirs = socket.socketpair()
    if pid := os.fork():
        theirs.close()
        ours.settimeout(0)
        scanner = killable_process._Process.__new__(killable_process._Process)
        vars(scanner).update(_socket=ours, _child=Child(pid), idle_since=time.monotonic())
        killable_process._idle.append(scanner)
        return
    ours.close()
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor, number in ((theirs.fileno(), 0), (nothing, 1), (nothing, 2)):
        os.dup2(descriptor, number)
    theirs.close()
    killable_process.serve_requests()
    os._exit(0)


class Child:
    """As much of a Popen as the program uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        os.waitpid(self.pid, 0)


def run_program() -> None:
    """Run it to its end, but do not free, piece by piece, a memory that is shared."""
    code = 1  # that is how an error ends which nobody caught

    def leave() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    atexit.register(leave)  # the first, so it is called last, when all threads have ended
    try:
        main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
        raise


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, and they end us
    load_everything()
    take_place(Commands(socket.socket(fileno=int(sys.argv[1]))).wait_for_order())
    run_program()
