"""Timestamps as whole microseconds since 1970, which every database sorts the same way."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


_LAST = to_micros(datetime.max.replace(tzinfo=UTC))


def to_optional_micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def micros_after(now: int, span: timedelta) -> int:
    """Return the time *span* after *now*, but not before *now* or beyond the calendar."""
    return min(max(now, now + span // _MICROSECOND), _LAST)


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def span_micros(span: timedelta) -> int:
    """Return the length of *span*, at least 0 and at most the length of the calendar."""
    return min(max(span // _MICROSECOND, 0), _LAST)
