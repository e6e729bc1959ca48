"""The audit log: action, actor, target and reason, written in the commit of the action."""

import secrets
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.errors import InvalidInput
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.stores.db import get_kv, get_now
from vskill_platform.stores.records import decode, encode, iterate_keys, read_found

AUDIT = "audit:"
#: How many records a search reads before it returns what it has found so far.
MAX_READ = 5_000
_READ_AT_ONCE = 500
#: How many slugs a record names: a block can take down all skills of a publisher.
_MAX_SKILLS = 1_000
#: The largest time that fits into a key.
_MAX_MOMENT = 16**14 - 1


class AuditRecord(Reasoned, Record, frozen=True, kw_only=True):
    at: datetime
    #: The actor: a person, or a node.
    actor: str
    #: The action, such as `block add`.
    action: str
    #: The target.
    subject: str
    reason: str
    #: The result, in words.
    outcome: str = ""
    #: Slugs of skills that the action changed, if its target does not name them.
    skills: tuple[str, ...] = ()


class AuditPage(msgspec.Struct, frozen=True):
    records: list[AuditRecord]
    #: Where the next page starts. A page may contain few records and still have a cursor: the
    #: search has read MAX_READ records, and there are older ones.
    cursor: str | None


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    actor: str = ""
    #: An action, or its first word: `block` finds `block add` and `block remove`.
    action: str = ""
    #: A part of the target.
    target: str = ""
    #: Records from *since* until just before *until*.
    since: datetime | None = None
    until: datetime | None = None

    def matches(self, record: AuditRecord) -> bool:
        """Return whether actor, action and target match; the caller limits the times."""
        actor, action, target = (
            text.strip().casefold() for text in (self.actor, self.action, self.target)
        )
        found = record.action.casefold()
        return (
            (not actor or record.actor.casefold() == actor)
            and (not action or found == action or found.startswith(f"{action} "))
            and target in record.subject.casefold()
        )


def read_audit_query(
    *, actor: str = "", action: str = "", target: str = "", start: str = "", end: str = ""
) -> AuditQuery:
    """Parse a typed query; *start* and *end* are times or dates, and an end date is included."""
    since, until = _read_moment(start, "from"), _read_moment(end, "to", is_end=True)
    if since and until and since >= until:
        raise InvalidInput("from must be before to")
    return AuditQuery(actor=actor, action=action, target=target, since=since, until=until)


def _read_moment(text: str, name: str, *, is_end: bool = False) -> datetime | None:
    text = text.strip()
    if not text:
        return None
    try:
        if is_end and len(text) <= len("2026-01-31"):
            day = date.fromisoformat(text) + timedelta(days=1)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name} must be a date such as 2026-01-31, or a time such as 2026-01-31T12:00 (UTC)"
        ) from error


def write_audit(
    action: str,
    subject: str,
    *,
    actor: str,
    reason: str,
    outcome: str = "",
    skills: Sequence[str] = (),
) -> Operation:
    """Return the audit record; it belongs in the commit of the action."""
    now = get_now()
    record = AuditRecord(
        at=now,
        actor=actor,
        action=action,
        subject=subject,
        reason=reason,
        outcome=outcome,
        skills=tuple(skills[:_MAX_SKILLS]),
    )
    # The timestamp determines the order, the rest makes keys unique.
    key = f"{AUDIT}{_moment(now)}{secrets.token_hex(8)}"
    return Put(key, encode(record), expected=ABSENT, due=NEVER)


async def list_audit(
    *, after: str | None = None, limit: int = 50, query: AuditQuery | None = None
) -> AuditPage:
    """Return a page of the records that match, newest first."""
    query = query or AuditQuery()
    found: list[tuple[str, AuditRecord]] = []
    size = _READ_AT_ONCE if query.actor or query.action or query.target else limit + 1
    last, read = _first_after(after, query), 0
    while read < MAX_READ:
        page = await get_kv().list_keys(AUDIT, after=last, limit=size, newest_first=True)
        keys = [key for key in page.keys if key >= _oldest(query)]
        # An outage is an error here, because a log with gaps must not look complete.
        records = await read_found(keys, lambda key, value: decode(key, value, AuditRecord))
        found += [(key, one) for key, one in records.items() if query.matches(one)]
        if len(found) > limit:
            return AuditPage([one for _, one in found[:limit]], found[limit - 1][0])
        if page.cursor is None or len(keys) < len(page.keys):
            return AuditPage([one for _, one in found], None)
        last, read = page.cursor, read + len(keys)
    return AuditPage([one for _, one in found], last)


def _first_after(after: str | None, query: AuditQuery) -> str | None:
    """Return the key before which the page starts: the cursor, or the end time."""
    if query.until is None:
        return after
    end = AUDIT + _moment(query.until)
    return min(after, end) if after else end


def _oldest(query: AuditQuery) -> str:
    return AUDIT + (_moment(query.since) if query.since else "")


async def delete_audit_before(moment: datetime, *, limit: int) -> list[Operation]:
    """Return the operations that remove the oldest records from before *moment*, if any."""
    page = await get_kv().list_keys(AUDIT, limit=limit)
    first_kept = AUDIT + _moment(moment)
    return [Delete(key) for key in page.keys if key < first_kept]


async def measure_audit_before(moment: datetime) -> tuple[int, int]:
    """Return the number and the size of the records from before *moment*."""
    first_kept, count, size = AUDIT + _moment(moment), 0, 0
    async for keys in iterate_keys(AUDIT):
        old = [key for key in keys if key < first_kept]
        sizes = await read_found(old, lambda _, value: len(value))
        count, size = count + len(old), size + sum(sizes.values())
        if len(old) < len(keys):
            break
    return count, size


def _moment(at: datetime) -> str:
    microseconds = int(at.timestamp() * 1_000_000)
    return f"{min(max(microseconds, 0), _MAX_MOMENT):014x}"
