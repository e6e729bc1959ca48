"""The cost of a command with all its child processes: seconds, processor seconds, and memory."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import msgspec

_PROC = Path("/proc")
#: A peak that is shorter may be missed.
_EVERY_SECONDS = 0.01


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    output: str
    complaints: str
    wall: float
    #: Processor seconds of the command and of all that it started and waited for.
    cpu: float
    #: The most that one process had in memory, and the most that all had at one moment. What they
    #: share is counted for each.
    largest: int
    together: int


def measure(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path, patience: float
) -> Cost:
    """Run a command to its end; one that takes longer than *patience* is a failure of ours."""
    started = time.perf_counter()
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as complaints:
        process = subprocess.Popen(
            command, stdout=out, stderr=complaints, env=environment, cwd=folder
        )
        watch = _Watch(process.pid)
        code, used = _wait(process, patience)
        wall = time.perf_counter() - started
        watch.end()
    return Cost(
        code=code,
        output=(folder / "stdout").read_text(errors="replace"),
        complaints=(folder / "stderr").read_text(errors="replace"),
        wall=wall,
        cpu=used,
        largest=watch.largest,
        together=watch.together,
    )


def _wait(process: subprocess.Popen[bytes], patience: float) -> tuple[int, float]:
    """Wait as the shell's `time` does: with the end of a process comes what it has used."""
    alarm = Thread(target=_kill_later, args=(process, patience, ended := Event()), daemon=True)
    alarm.start()
    _, status, used = os.wait4(process.pid, 0)
    ended.set()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def _kill_later(process: subprocess.Popen[bytes], patience: float, ended: Event) -> None:
    if not ended.wait(patience):
        process.kill()


class _Watch:
    """Looks at a process and all below it, again and again, until it is ended."""

    def __init__(self, pid: int) -> None:
        self.largest = self.together = 0
        self._pid, self._ended = pid, Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            sizes = [_memory(pid) for pid in _tree(self._pid)]
            self.together = max(self.together, sum(now for now, _ in sizes))
            self.largest = max([self.largest, *(peak for _, peak in sizes)])


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):  # it has ended meanwhile
        for task in (_PROC / str(pid) / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _memory(pid: int) -> tuple[int, int]:
    """Return how many bytes a process has in memory, and the most that it ever had."""
    with suppress(OSError):
        facts = dict(
            line.split(":", 1)
            for line in (_PROC / str(pid) / "status").read_text().splitlines()
            if line.startswith(("VmRSS", "VmHWM"))
        )
        if facts:
            now, peak = (int(facts[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))
            return now, peak
    return 0, 0
