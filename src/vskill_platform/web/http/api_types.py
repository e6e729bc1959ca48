"""Types and paging that all API operations share."""

import base64
import binascii
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from vskill_platform.errors import InvalidInput

_MAX_OFFSET = 10_000_000
_MAX_NUMBER = 2**62
#: Higher than any list's maximum, because a limit that is too high is lowered, not refused.
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]
PageNumber = Annotated[int, QueryParameter(ge=1, le=100_000)]
Offset = Annotated[int, QueryParameter(ge=0, le=10_000_000)]


def offset_cursor(offset: int, count: int, total: int) -> str | None:
    """Return the cursor of the next page; None after the last."""
    following = offset + count
    return _encode(str(following)) if count and following < total else None


def read_offset(cursor: str | None, offset: int) -> int:
    """Return the offset of the page: from the cursor, or else the requested one."""
    return offset if cursor is None else _number(cursor, _MAX_OFFSET)


def number_cursor(number: int | None) -> str | None:
    """Return the cursor of the page after this number; None after the last."""
    return None if number is None else _encode(str(number))


def read_number(cursor: str | None) -> int:
    """Return the number after which the page starts."""
    return 0 if cursor is None else _number(cursor, _MAX_NUMBER)


def key_cursor(key: str | None) -> str | None:
    return _encode(key) if key else None


def read_key(cursor: str | None) -> str | None:
    return _decode(cursor) if cursor else None


def _number(cursor: str, most: int) -> int:
    try:
        found = int(_decode(cursor))
    except ValueError as error:
        raise _no_cursor() from error
    if not 0 <= found <= most:
        raise _no_cursor()
    return found


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise _no_cursor() from error


def _no_cursor() -> InvalidInput:
    return InvalidInput("invalid cursor; use nextCursor of the previous response")


def clamp(limit: int, most: int) -> tuple[int, dict[str, str]]:
    """Return the page size, and the header that says if the requested one was too high."""
    return min(limit, most), {"X-Limit-Clamped": str(most)} if limit > most else {}


MAX_REASON = 500


ReasonText = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REASON)]


Text = Annotated[str, msgspec.Meta(max_length=500)]


SearchText = Annotated[str, QueryParameter(max_length=200)]
VersionName = Annotated[str | None, QueryParameter(max_length=100)]


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """JSON with camel-case field names."""


class ReasonRequest(Shape, frozen=True, kw_only=True):
    reason: ReasonText


class Ok(Shape, frozen=True, kw_only=True):
    ok: bool = True
