"""Ranges of keys, and the cursors of listings by due time; the same in every engine."""

import re

from vskill_platform.errors import InvalidInput

_BEFORE_ALL_MOMENTS = -(2**63)
#: `undated <last key>`, then `due` alone, then `due <its due> <last key>`.
_DUE_CURSOR = re.compile(r"undated .+|due |due -?\d{1,18} .+", re.DOTALL)
_LAST_CODE_POINT = "\U0010ffff"
_SURROGATES = range(0xD800, 0xE000)


def end_of_prefix(prefix: str) -> str | None:
    """Return the first key after all keys with *prefix*; None if no key can follow them."""
    stem = prefix.rstrip(_LAST_CODE_POINT)
    if not stem:
        return None
    code_point = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if code_point in _SURROGATES else code_point)


def split_due_cursor(after: str | None) -> tuple[str, str]:
    """Split a cursor into the part of the listing and the position in it."""
    if after is None:
        return "undated", ""
    if not _DUE_CURSOR.fullmatch(after):
        raise InvalidInput(f"not a cursor of a listing by due: {after!r}")
    part, _, position = after.partition(" ")
    return part, position


def split_due(position: str) -> tuple[int, str]:
    if not position:
        return _BEFORE_ALL_MOMENTS, ""
    due, _, key = position.partition(" ")
    return int(due), key
