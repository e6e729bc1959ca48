"""Time as a test wants it."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


class ManualClock:
    """Stands still until a test moves it."""

    def __init__(self, now: datetime = NOON) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, **by: float) -> None:
        self._now += timedelta(**by)
