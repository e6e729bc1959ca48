"""Start Python processes of our own that talk to this one over a socket, and end when it does."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

#: `-P` and the path as an argument: the child imports the same modules as we do, and nothing from
#: its current folder.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {module} import {name}; {name}()"
)


class PythonProcess(NamedTuple):
    #: Does not block. The child reads the end of the stream when this process ends, even if killed.
    socket: socket.socket
    child: "subprocess.Popen[bytes]"


def start_python(function: Callable[[], None], *, shows_errors: bool = False) -> PythonProcess:
    """Start a process that calls *function*, which must be importable."""
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    program = _PROGRAM.format(module=function.__module__, name=function.__name__)
    command = [sys.executable, "-P", "-c", program, json.dumps(sys.path)]
    with theirs, ExitStack() as on_failure:
        on_failure.callback(ours.close)
        child = subprocess.Popen(
            command,
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=None if shows_errors else subprocess.DEVNULL,
        )
        on_failure.pop_all()
    return PythonProcess(ours, child)


def parent_socket() -> socket.socket:
    """Return the other end of the socket, in a process of `start_python`; it blocks."""
    # The parent decides when this process ends: a signal to the process group must not break work
    # for which the parent still waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ours = socket.socket(fileno=os.dup(0))
    ours.settimeout(None)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return ours
