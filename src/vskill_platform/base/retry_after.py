"""Parse the header Retry-After of other servers: seconds or a date, and possibly garbage."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

#: More digits than any reasonable wait has.
_MAX_DIGITS = 9


def parse_retry_after(text: str, now: datetime, *, most: timedelta) -> timedelta | None:
    """Return how long to wait, at most *most*; None if the text is not valid."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return min(timedelta(seconds=int(text[:_MAX_DIGITS])), most)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the year has too many digits
        return None
    return min(max(moment.replace(tzinfo=moment.tzinfo or UTC) - now, timedelta(0)), most)
