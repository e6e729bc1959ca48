"""The real program, loaded once; every command is a fork of it. Started by `loaded_program`.

    python -m tests.acceptance.forked_program SOCKET

A fork is a process as any other: it has its own memory, files, clock and death, and it ends as the
program ends. All it does not have to do is to load the modules, which takes ten times as long as
most commands.
"""

import atexit
import gc
import importlib
import os
import pkgutil
import signal
import socket
import sys

import msgspec

import vskill_platform
from tests.acceptance.struck_at import strike
from vskill_platform.cli.main import main


class Order(msgspec.Struct, frozen=True):
    """One command: what it is called with, and where."""

    #: The program and what it is told; as bytes, because not every path is text.
    arguments: list[bytes]
    environment: dict[str, str]
    folder: str
    #: What `struck_at` is told, if the command is to come to harm.
    harm: list[str] = []


def load_everything() -> None:
    for module in pkgutil.walk_packages(vskill_platform.__path__, "vskill_platform."):
        importlib.import_module(module.name)
    gc.freeze()  # what a fork has no need to look at, it need not copy either


def wait_for_orders(orders: socket.socket) -> Order:
    """Fork for each order; return in the fork alone."""
    guards: set[int] = set()
    while True:
        _, descriptors, _, _ = socket.recv_fds(orders, 1, 3)
        if not descriptors:
            sys.exit()  # the tests are over
        if guard := os.fork():
            guards.add(guard)
            for descriptor in descriptors:
                os.close(descriptor)
            guards -= {guard for guard in guards if os.waitpid(guard, os.WNOHANG)[0]}
        else:
            orders.close()
            return become_command(*descriptors)


def become_command(report: int, out: int, err: int) -> Order:
    """Fork once more: one is the command, the other tells its pid and how it ended."""
    with socket.socket(fileno=report) as channel:
        order = msgspec.json.decode(read_all(channel), type=Order)
        if pid := os.fork():
            channel.sendall(b"%d\n" % pid)
            _, status = os.waitpid(pid, 0)
            channel.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
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
    if order.harm:
        strike(*order.harm)
    # Its own children load what they would load for the program as it is installed.
    del sys.path[0]
    sys.argv = [os.fsdecode(argument) for argument in order.arguments]
    sys.modules["__main__"].__file__ = sys.argv[0]


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
    take_place(wait_for_orders(socket.socket(fileno=int(sys.argv[1]))))
    run_program()
