"""Cursors of lists of skills and submissions, in all APIs and pages: where the next page starts.

Cursors of earlier releases, and of orders that cannot be continued after a row, are offsets.
"""

from typing import Any

import msgspec

from vskill_platform.catalogue.next_page import first_position
from vskill_platform.catalogue.query import (
    SkillPosition,
    SkillResults,
    SubmissionPosition,
    SubmissionQuery,
    SubmissionResults,
)
from vskill_platform.errors import InvalidInput
from vskill_platform.web.http.api_types import key_cursor, offset_cursor, read_key, read_offset

_encode = msgspec.json.Encoder().encode
_SKILL = msgspec.json.Decoder(SkillPosition)
_SUBMISSION = msgspec.json.Decoder(SubmissionPosition)
_PROBLEM = "invalid cursor; use nextCursor of the previous response"


def start_at(cursor: str | None, offset: int = 0) -> dict[str, Any]:
    """Return the fields of a `SkillQuery` that say where the page starts."""
    text = read_key(cursor)
    if text is None or not text.startswith("["):
        return {"offset": read_offset(cursor, offset)}
    try:
        after = _SKILL.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(_PROBLEM) from error
    return {"offset": after.seen, "after": after}


def jump_to(cursor: str | None, offset: int) -> dict[str, Any]:
    """Return the fields for the page at *offset*, in the order of the list that the cursor is from.

    Later pages are counted from the cursor, so skills that were removed before it do not matter.
    """
    start = start_at(cursor, offset)
    after: SkillPosition | None = start.get("after")
    if after is None:
        return {"offset": offset}
    if offset < after.seen:
        after = first_position(after)
    return {"offset": offset, "after": after, "skip": offset - after.seen}


def next_cursor(found: SkillResults) -> str | None:
    """Return the cursor of the next page of skills; None after the last."""
    return key_cursor(_encode(found.next).decode()) if found.next else None


def start_submissions_at(cursor: str | None, offset: int = 0) -> dict[str, Any]:
    """Return the fields of a `SubmissionQuery` that say where the page starts."""
    text = read_key(cursor)
    if text is None or not text.startswith("["):
        return {"offset": read_offset(cursor, offset)}
    try:
        return {"after": _SUBMISSION.decode(text)}
    except msgspec.DecodeError as error:
        raise InvalidInput(_PROBLEM) from error


def next_submissions(query: SubmissionQuery, found: SubmissionResults) -> str | None:
    """Return the cursor of the next page of submissions; None after the last."""
    if found.next:
        return key_cursor(_encode(found.next).decode())
    return None if query.after else offset_cursor(query.offset, len(found.rows), found.total)
