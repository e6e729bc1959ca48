"""Cursors of lists of skills, in all APIs and pages: where the next page starts."""

from typing import Any

import msgspec

from vskill_platform.catalogue.query import SkillPosition, SkillResults
from vskill_platform.errors import InvalidInput
from vskill_platform.web.http.api_types import key_cursor, read_key, read_offset

_encode = msgspec.json.Encoder().encode
_POSITION = msgspec.json.Decoder(SkillPosition)


def start_at(cursor: str | None, offset: int = 0) -> dict[str, Any]:
    """Return the fields of a `SkillQuery` that say where the page starts, and asks for the next.

    Cursors of earlier releases are offsets.
    """
    if cursor is None:
        return {"offset": offset, "with_next": True}
    text = read_key(cursor)
    if text is None or not text.startswith("["):
        return {"offset": read_offset(cursor, offset), "with_next": True}
    try:
        after = _POSITION.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput("invalid cursor; use nextCursor of the previous response") from error
    return {"offset": after.seen, "after": after, "with_next": True}


def next_cursor(found: SkillResults) -> str | None:
    """Return the cursor of the next page; None after the last."""
    return key_cursor(_encode(found.next).decode()) if found.next else None
