"""Clocks that a test controls."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


class ManualClock:
    """A clock that changes only when a test advances it."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, **by: float) -> None:
        self._now += timedelta(**by)


class TickingClock(ManualClock):
    """Moves a little each time somebody looks, as a real clock does; back, if a test wants."""

    def __init__(self, now: datetime = NOON, *, by: timedelta = timedelta(milliseconds=1)) -> None:
        super().__init__(now)
        self._by = by

    def now(self) -> datetime:
        self._now += self._by
        return self._now
