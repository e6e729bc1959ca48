"""Measure how long each phase of some work takes."""

import time
from collections.abc import Callable


class Stopwatch:
    def __init__(self, on_lap: Callable[[str, float], None] | None = None) -> None:
        self._on_lap = on_lap
        self._started = self._lap_started = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """End a phase and name it."""
        now = time.perf_counter()
        self.laps[name] = seconds = round(now - self._lap_started, 6)
        self._lap_started = now
        if self._on_lap:
            self._on_lap(name, seconds)

    def skip(self) -> None:
        """Skip the time since the last phase ended: it was spent waiting."""
        now = time.perf_counter()
        self._started += now - self._lap_started
        self._lap_started = now

    @property
    def total_seconds(self) -> float:
        return round(time.perf_counter() - self._started, 6)
