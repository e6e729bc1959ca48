"""A process of the program: its output, its exit code, and one that runs in the background."""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Protocol

#: Nothing here takes half as long, even on a machine that is busy with other tests.
PATIENCE_SECONDS = 90.0


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


class Process(Protocol):
    """What a Popen has, and a command that was forked has too."""

    @property
    def stdout(self) -> IO[str] | None: ...
    @property
    def stderr(self) -> IO[str] | None: ...
    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...


class Running:
    """A process that runs in the background."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._readers = [
            Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (process.stdout, process.stderr)
            if stream
        ]
        for reader in self._readers:
            reader.start()

    def wait_for(self, text: str) -> str:
        """Wait until the process has printed *text*; return its line."""
        heard = []
        try:
            while text not in (line := self._lines.get(timeout=PATIENCE_SECONDS)):
                heard.append(line)
        except Empty:
            raise AssertionError(f"it never said {text!r}, only {heard}") from None
        return line

    def wait_until_it_sleeps(self) -> None:
        """Wait until a SIGSTOP has reached the process."""
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended: {self.rest()}"

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; return the exit code."""
        self._process.send_signal(number)
        return self.wait()

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def wait(self) -> int:
        """Wait until the process has ended by itself; return the exit code."""
        code = self._process.wait(PATIENCE_SECONDS)
        for reader in self._readers:
            reader.join()
        return code

    def rest(self) -> str:
        """Return what an ended process had printed and nobody has read."""
        lines = []
        with suppress(Empty):
            while True:
                lines.append(self._lines.get_nowait())
        return "".join(lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
