"""The supervisor of `serve --processes`: starts, restarts and stops the processes on one port.

The processes are forks of the supervisor, so they share the memory of all modules, and a restart
takes no time. The supervisor has neither threads nor an event loop, which a fork would break.
"""

import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from vskill_platform.base.telemetry import get_logger
from vskill_platform.cli.node.stop_signals import CLOSE_SECONDS

log = get_logger(__name__)

#: What a process sends when it is listening.
_READY = b"1"
#: What it gets when it has to stop; not a signal, because a service manager may have sent one.
_STOP = b"0"
#: Pause before a restart; it doubles each time, unless the process ran for a while.
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 30.0
_STABLE_SECONDS = 60.0
#: How much longer than the process's own grace period the supervisor waits before it kills it.
_KILL_AFTER_SECONDS = 5.0
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ServerProcess(NamedTuple):
    """One process of several on the same port."""

    number: int
    #: A socket to the supervisor; it closes when the supervisor ends.
    control: socket.socket

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def report_ready(self) -> None:
        with suppress(OSError):  # the supervisor was killed
            self.control.send(_READY)


def supervise(processes: int, *, grace: timedelta) -> ServerProcess:
    """Fork the processes and return in each of them; in the supervisor, exit when all have ended.

    The first process prepares the database, so the others start when it is ready. If it fails
    before that, the whole start fails. Later, each process that ends is restarted.
    """
    supervisor = _Supervisor(processes, grace)
    member = supervisor.run()
    if member is None:
        sys.exit(supervisor.code)
    return member


@dataclass
class _Process:
    number: int
    pause: float = _FIRST_PAUSE_SECONDS
    #: When it was started, or when to start it if it is not running.
    at: float = 0.0
    pid: int = 0
    control: socket.socket | None = None


@dataclass
class _Supervisor:
    count: int
    grace: timedelta
    code: int = 0
    _is_started: bool = False
    _kill_at: float | None = None
    _signals: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._processes = [_Process(0)]
        self._wakeup, self._waker = socket.socketpair()
        for end in (self._wakeup, self._waker):
            end.setblocking(False)

    def run(self) -> ServerProcess | None:
        """Return the member in a new process, or None in the supervisor at the end."""
        self._catch_signals()
        while self._processes:
            now = time.monotonic()
            for process in [one for one in self._processes if not one.pid and one.at <= now]:
                if (member := self._fork(process)) is not None:
                    return member
            self._wait()
            while self._signals:
                if self._signals.pop(0) in _STOP_SIGNALS:
                    self._stop()
            self._reap()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._send(signal.SIGKILL)
        return None

    def _fork(self, process: _Process) -> ServerProcess | None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._leave()
            return ServerProcess(process.number, theirs)
        theirs.close()
        process.pid, process.control, process.at = pid, ours, time.monotonic()
        return None

    def _leave(self) -> None:
        """Release what belongs to the supervisor, in the new process."""
        signal.set_wakeup_fd(-1)
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for mine in (self._wakeup, self._waker, *(one.control for one in self._processes)):
            if mine:
                mine.close()
        # Otherwise a Ctrl-C would arrive twice, from the terminal and from the supervisor.
        os.setpgid(0, 0)

    def _catch_signals(self) -> None:
        signal.set_wakeup_fd(self._waker.fileno())
        for number in (*_STOP_SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda caught, _: self._signals.append(caught))

    def _wait(self) -> None:
        """Wait for a signal, for a process that is ready, or until the next thing is due."""
        now = time.monotonic()
        due = [process.at for process in self._processes if not process.pid]
        if self._kill_at is not None:
            due.append(self._kill_at)
        with selectors.DefaultSelector() as selector:
            selector.register(self._wakeup, selectors.EVENT_READ)
            for process in self._processes:
                if process.control:
                    selector.register(process.control, selectors.EVENT_READ, process)
            found = selector.select(max(min(due) - now, 0) if due else None)
        for key, _ in found:
            if key.data is None:
                self._wakeup.recv(4096)
            else:
                self._read_message(key.data)

    def _read_message(self, process: _Process) -> None:
        """Read the message of a process: that it is ready, or nothing because it has ended."""
        if not process.control:
            return
        try:
            received = process.control.recv(len(_READY))
        except OSError:  # it ended before it read our message
            received = b""
        if received != _READY:
            process.control.close()
            process.control = None
            return
        log.info("process ready", process=process.number, pid=process.pid)
        if not self._is_started:
            self._is_started = True
            if self._kill_at is None:
                self._processes += [_Process(number) for number in range(1, self.count)]

    def _stop(self) -> None:
        """Ask all processes to stop; a second time kills them."""
        self._processes = [process for process in self._processes if process.pid]
        if self._kill_at is not None:
            self._send(signal.SIGKILL)
            return
        patience = self.grace.total_seconds() + CLOSE_SECONDS + _KILL_AFTER_SECONDS
        self._kill_at = time.monotonic() + patience
        for process in self._processes:
            if process.control:
                with suppress(OSError):  # it has just ended
                    process.control.send(_STOP)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process.pid:
                os.kill(process.pid, number)  # the pid is valid until it is waited for

    def _reap(self) -> None:
        for process in [one for one in self._processes if one.pid]:
            pid, status = os.waitpid(process.pid, os.WNOHANG)
            if not pid:
                continue
            code = os.waitstatus_to_exitcode(status)
            if process.control:
                process.control.close()
            if self._kill_at is not None or not self._is_started:
                self.code = max(self.code, code if code >= 0 else 1)
                self._processes.remove(process)
                continue
            self._restart_later(process, code)

    def _restart_later(self, process: _Process, code: int) -> None:
        now = time.monotonic()
        if now - process.at > _STABLE_SECONDS:
            process.pause = _FIRST_PAUSE_SECONDS
        log.error(
            "process ended, restarting it",
            process=process.number,
            code=code,
            pause_seconds=process.pause,
        )
        process.pid, process.control, process.at = 0, None, now + process.pause
        process.pause = min(process.pause * 2, _MAX_PAUSE_SECONDS)
