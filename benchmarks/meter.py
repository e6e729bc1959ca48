"""Which part of our own process uses the processor: each phase, and each kind of thread.

Measured, not sampled: a phase is timed whenever its thread runs it, with the thread's processor
clock. A phase that is called by another phase counts only for itself.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType, coroutine
from typing import Any

Seconds = defaultdict[str, float]


class Meter:
    def __init__(self) -> None:
        self._used: list[tuple[str, Seconds]] = []
        self._of_thread = threading.local()

    def seconds_in(self, kind: str) -> Seconds:
        """Return what each phase used in the threads of one kind."""
        total: Seconds = defaultdict(float)
        for _, used in [entry for entry in self._used if entry[0] == kind]:
            for phase, seconds in used.items():
                total[phase] += seconds
        return total

    def reset(self) -> None:
        for _, used in self._used:
            used.clear()

    def watch(self, phase: str, owner: Any, name: str) -> None:
        """Time a plain function, under the name by which *owner* calls it."""
        work = getattr(owner, name)
        setattr(owner, name, lambda *args, **options: self.time(phase, work, *args, **options))

    def watch_async(self, phase: str, owner: Any, name: str) -> None:
        setattr(owner, name, self.timed(phase, getattr(owner, name)))

    def watch_context(self, phase: str, owner: Any, name: str) -> None:
        """Time the way into an async context, and the way out of it."""
        opened = getattr(owner, name)
        setattr(owner, name, lambda *args, **options: _Timed(self, phase, opened(*args, **options)))

    def timed(
        self, phase: str, work: Callable[..., Any]
    ) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def run(*args: Any, **options: Any) -> Any:
            return await _drive(self, phase, work(*args, **options))

        return run

    def time(self, phase: str, work: Callable[..., Any], *args: Any, **options: Any) -> Any:
        mine = self._of_thread
        if not hasattr(mine, "used"):
            mine.used, mine.inside = defaultdict(float), 0.0
            self._used.append((_kind_of(threading.current_thread()), mine.used))
        outside, mine.inside = mine.inside, 0.0
        started = time.thread_time()
        try:
            return work(*args, **options)
        finally:
            used = time.thread_time() - started
            mine.used[phase] += used - mine.inside
            mine.inside = outside + used


class _Timed:
    def __init__(self, meter: Meter, phase: str, inner: AbstractAsyncContextManager[Any]) -> None:
        self._meter, self._phase, self._inner = meter, phase, inner

    async def __aenter__(self) -> Any:
        return await self._meter.timed(self._phase, self._inner.__aenter__)()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        return await self._meter.timed(self._phase, self._inner.__aexit__)(kind, error, traceback)


@coroutine
def _drive(meter: Meter, phase: str, work: Any) -> Generator[Any, Any, Any]:
    """Do what `await` does, and look at the clock around every step."""
    step, value = work.send, None
    while True:
        try:
            waits_for = meter.time(phase, step, value)
        except StopIteration as done:
            return done.value
        try:
            step, value = work.send, (yield waits_for)
        except BaseException as error:  # noqa: BLE001 - handed on to the work, as await does
            step, value = work.throw, error


def thread_seconds() -> Seconds:
    """Return what each kind of thread that is alive has used; threads of a pool are one kind."""
    used: Seconds = defaultdict(float)
    for thread in threading.enumerate():
        if thread.ident is not None:
            clock = time.pthread_getcpuclockid(thread.ident)
            used[_kind_of(thread)] += time.clock_gettime(clock)
    return used


def _kind_of(thread: threading.Thread) -> str:
    return thread.name.rpartition("_")[0] or thread.name
