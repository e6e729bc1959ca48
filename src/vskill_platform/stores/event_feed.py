"""Read the history of submissions and the audit log as a feed of events.

Both are written in the commit of what they describe and never changed, so the change feed of the
engine serves as an outbox: events that no endpoint wants cost no write.
"""

from typing import TypeAlias

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, NEVER, Operation, Put
from vskill_platform.errors import FeedTrimmed, HistoryChanged
from vskill_platform.model.record import Record
from vskill_platform.model.submission import StateEvent
from vskill_platform.stores.audit_store import AUDIT, AuditRecord
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.records import Stored, decode, encode, get_record, read_found
from vskill_platform.stores.submission_store import HISTORY

log = get_logger(__name__)

_CURSOR = "event-cursor"
_PREFIXES = (HISTORY, AUDIT)
#: After this many revisions without events the cursor moves, so that no reading starts far back.
_MOVE_AFTER = 1_000
FeedEntry: TypeAlias = StateEvent | AuditRecord


class EventCursor(Record, frozen=True, kw_only=True):
    #: Everything up to this revision has been read.
    revision: int
    checkpoint: str


class FeedPage(msgspec.Struct, frozen=True, kw_only=True):
    #: The events, by the key of their records, in commit order.
    happened: dict[str, FeedEntry]
    #: The cursor behind this page, and the revision of the one before.
    cursor: EventCursor
    expected: int
    #: Whether there are no more events at the moment.
    is_last: bool
    #: Whether the cursor should be stored even without events.
    must_move: bool = False


async def get_event_cursor() -> Stored[EventCursor] | None:
    """Return how far the feed has been read; None if no endpoint wants events yet."""
    return await get_record(_CURSOR, EventCursor)


async def begin_feed() -> list[Operation]:
    """Return the operation that starts the feed, for the commit that adds the first endpoint.

    Otherwise events between that commit and the first reading would be lost.
    """
    if await get_event_cursor() is not None:
        return []
    return [write_event_cursor(await _cursor_here(), expected=ABSENT)]


def write_event_cursor(cursor: EventCursor, *, expected: int) -> Operation:
    return Put(_CURSOR, encode(cursor), expected=expected, due=NEVER)


async def read_feed() -> FeedPage | None:
    """Return a page of events since the cursor; None if no endpoint wants events yet."""
    stored = await get_event_cursor()
    if stored is None:
        return None
    cursor = stored.record
    try:
        page = await bound_env().engine.read_changes(
            after=cursor.revision, checkpoint=cursor.checkpoint, prefixes=_PREFIXES
        )
    except (FeedTrimmed, HistoryChanged) as error:
        log.warning("events may be missing, the feed starts again here", reason=str(error))
        here = await _cursor_here()
        return FeedPage(
            happened={}, cursor=here, expected=stored.revision, is_last=True, must_move=True
        )
    keys = [key for change in page.changes for key in change.keys]
    found: dict[str, FeedEntry] = await read_found(keys, _decode)
    return FeedPage(
        happened={key: found[key] for key in keys if key in found},
        cursor=EventCursor(revision=page.through, checkpoint=page.checkpoint),
        expected=stored.revision,
        is_last=page.is_last,
        must_move=page.through - cursor.revision > _MOVE_AFTER,
    )


async def _cursor_here() -> EventCursor:
    engine = bound_env().engine
    page = await engine.read_changes(after=await engine.revision())
    return EventCursor(revision=page.through, checkpoint=page.checkpoint)


def _decode(key: str, value: bytes) -> FeedEntry:
    if key.startswith(HISTORY):
        return decode(key, value, StateEvent)
    return decode(key, value, AuditRecord)
