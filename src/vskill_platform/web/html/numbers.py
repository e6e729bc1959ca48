"""Times, durations and sizes as text: filters of the templates."""

import math
from datetime import UTC, datetime, timedelta

from vskill_platform.base.show_text import count_of
from vskill_platform.stores.db import get_now

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
#: Relative times use the first unit whose maximum they do not exceed; app.js does the same.
_UNITS = (
    (_MINUTE, "min", 59),
    (_HOUR, "h", 23),
    (_DAY, "day", 29),
    (30 * _DAY, "month", 11),
    (365 * _DAY, "year", math.inf),
)
#: For future times, which are deadlines: a token for 90 days expires in 90 days.
_MOST_DAYS_TO_COME = 99
_KIB = 1024


def ago(moment: datetime) -> str:
    """Return a relative time in one unit, such as `3 days ago` or `in 5 min`."""
    return ago_in_words((get_now() - moment).total_seconds())


def ago_in_words(seconds: float) -> str:
    """Round to the nearest unit: 29.4 days are 29 days, 29.6 days are a month."""
    length = abs(seconds)
    if length < _MINUTE:
        return "just now" if seconds >= 0 else "in a moment"
    rounded = [(int(length / size + 0.5), unit, most) for size, unit, most in _UNITS]
    count, unit = next((count, unit) for count, unit, most in rounded if count <= most)
    days = int(length / _DAY + 0.5)
    if seconds < 0 and unit == "month" and days <= _MOST_DAYS_TO_COME:
        count, unit = days, "day"
    plural = "s" if count != 1 and unit not in {"h", "min"} else ""
    return f"{count} {unit}{plural} ago" if seconds > 0 else f"in {count} {unit}{plural}"


def age(moment: datetime) -> str:
    """Return how long ago a time was, without `ago`, for use after `for`."""
    words = ago(moment)
    return "less than a minute" if words == "just now" else words.removesuffix(" ago")


def exact(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def in_bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < _KIB:
            return f"{size:.0f} {unit}" if unit == "B" else f"{_short(size)} {unit}"
        size /= _KIB
    return f"{_short(size)} GiB"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def in_figures(number: float) -> str:
    """Return a number with separators and only as many decimals as it has: 1,234,567 or 0.5."""
    return f"{number:,.10g}"


def in_duration(length: timedelta | float) -> str:
    """Return a duration such as 12 ms, 3.4 s, 5 min, 2 h or 3 days."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds >= _DAY:
        return count_of(round(seconds / _DAY), "day")
    size, unit = (_HOUR, "h") if seconds >= _HOUR else (_MINUTE, "min")
    return f"{seconds / size:.0f} {unit}"


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
