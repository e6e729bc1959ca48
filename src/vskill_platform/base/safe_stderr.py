"""Standard error that never raises and never blocks: a lost log line must not end the platform.

The reader of a pipe may go away or stop reading, and the disk of a log file may be full. Text is
written at once if that does not block. Otherwise a thread writes it later; beyond a limit, lines
are dropped and counted. As soon as writing works again, one line says how many lines are missing.
"""

import atexit
import io
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TextIO, cast

#: A pipe that poll() reports as writable accepts this much without blocking.
_CHUNK_BYTES = select.PIPE_BUF
#: How much may wait for a slow reader.
MAX_WAITING_BYTES = 1024 * 1024
_POLL_MS = 500
#: How long the process waits for a slow reader before it exits.
_LAST_SECONDS = 1.0
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class _Text(NamedTuple):
    data: bytes
    #: How many lines are lost with it.
    lines: int


def _dropped_notice(lines: int) -> str:
    return f"vskill-platform: {lines} log lines could not be written and were dropped"


class SafeStderr(io.TextIOBase):
    """A text stream over a file descriptor, to be used as sys.stderr."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        #: Lines that were lost and not reported yet.
        self.dropped = 0
        self.say_dropped: Callable[[int], str] = _dropped_notice
        #: Whether the last write ended in the middle of a line.
        self._is_cut = False
        self.drop_buffered()

    def drop_buffered(self) -> None:
        """Start over; after a fork, locks, threads and waiting text belong to the parent."""
        # Reentrant: a destructor or a signal handler may log while a line is being written.
        self._lock = threading.RLock()
        self._waiting: deque[_Text] = deque()
        self._waiting_bytes = 0
        #: How much of the first text is already written.
        self._written = 0
        self._is_writing = False
        self._thread: threading.Thread | None = None

    def write(self, text: str, /) -> int:
        data = text.encode(self.encoding, self.errors)
        lines = data.count(b"\n")
        with self._lock:
            if self._waiting_bytes + len(data) > MAX_WAITING_BYTES:
                self.dropped += lines
            else:
                self._add_notice()
                self._add(_Text(data, lines))
            if not self._is_writing:
                self._write_waiting()
            if self._waiting and self._thread is None and not self._is_writing:
                self._start_thread()
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        with suppress(OSError):
            return os.isatty(self._descriptor)
        return False

    def close(self) -> None:
        """Do nothing: the interpreter writes its last messages here."""

    def finish(self) -> None:
        """Wait briefly for a slow reader; called when the process ends."""
        until = time.monotonic() + _LAST_SECONDS
        while self._waiting and (left := until - time.monotonic()) > 0:
            self._wait(left * 1000)
            with self._lock:
                self._write_waiting()

    def _add(self, text: _Text) -> None:
        if text.data:
            self._waiting.append(text)
            self._waiting_bytes += len(text.data)

    def _add_notice(self) -> None:
        if self.dropped:
            lines, self.dropped = self.dropped, 0
            self._add(_Text(f"{self.say_dropped(lines)}\n".encode(), lines))

    def _write_waiting(self) -> None:
        """Write as much as can be written without waiting."""
        self._is_writing = True
        try:
            while self._waiting and self._wait(0):
                self._write_chunk()
        except OSError:  # a closed pipe, a full disk: the loss is reported later
            self.dropped += sum(text.lines for text in self._waiting)
            self._is_cut = self._is_cut or self._written > 0
            self._waiting.clear()
            self._waiting_bytes = self._written = 0
        finally:
            self._is_writing = False

    def _wait(self, milliseconds: float) -> bool:
        """Return whether something can be written without blocking, or is known to fail."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(milliseconds))

    def _write_chunk(self) -> None:
        if self._is_cut and not self._written:
            os.write(self._descriptor, b"\n")
            self._is_cut = False
        data = self._waiting[0].data
        self._written += os.write(
            self._descriptor, data[self._written : self._written + _CHUNK_BYTES]
        )
        if self._written == len(data):
            self._waiting.popleft()
            self._waiting_bytes -= len(data)
            self._written = 0

    def _start_thread(self) -> None:
        self._thread = threading.Thread(
            target=self._write_when_possible, name="slow-stderr", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter ends: the next line tries again
            self._thread = None

    def _write_when_possible(self) -> None:
        while True:
            self._wait(_POLL_MS)
            with self._lock:
                self._write_waiting()
                if not self._waiting:
                    self._add_notice()
                    self._write_waiting()
                if not self._waiting:
                    self._thread = None
                    return


def guard_stderr() -> SafeStderr | None:
    """Replace sys.stderr with a safe stream, once; return None if it is a buffer in memory."""
    if isinstance(sys.stderr, SafeStderr):
        return sys.stderr
    _open_missing_streams()
    try:
        descriptor = sys.stderr.fileno() if sys.stderr else _STDERR
    except (OSError, ValueError, AttributeError):  # a buffer in memory, which cannot fail
        return None
    safe = SafeStderr(descriptor)
    atexit.register(safe.finish)
    os.register_at_fork(after_in_child=safe.drop_buffered)
    sys.stderr = cast("TextIO", safe)
    return safe


def guard_stdout() -> TextIO:
    """Return stdout, set up to escape characters that its encoding lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return sys.stdout


def _open_missing_streams() -> None:
    """Open descriptors 0 to 2, or the log could go into a file opened as number 2.

    Python has no stream for a descriptor that was closed, and code that uses one would fail.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)
    if sys.stdin is None:
        sys.stdin = os.fdopen(_STDIN, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(_STDOUT, "w", encoding="utf-8", closefd=False)
