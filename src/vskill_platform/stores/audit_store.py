"""The audit log: action, actor, target and reason, written in the commit of the action."""

import secrets
from datetime import datetime

import msgspec

from vskill_platform.engines.ports import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Reasoned, Record
from vskill_platform.stores.db import get_kv, get_now
from vskill_platform.stores.records import decode, encode, read_each

_AUDIT = "audit:"


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


class AuditPage(msgspec.Struct, frozen=True):
    records: list[AuditRecord]
    cursor: str | None


def write_audit(
    action: str, subject: str, *, actor: str, reason: str, outcome: str = ""
) -> Operation:
    """Return the audit record; it belongs in the commit of the action."""
    now = get_now()
    record = AuditRecord(
        at=now, actor=actor, action=action, subject=subject, reason=reason, outcome=outcome
    )
    # The timestamp gives the order, the rest makes keys unique.
    key = f"{_AUDIT}{_moment(now)}{secrets.token_hex(8)}"
    return Put(key, encode(record), expected=ABSENT, due=NEVER)


async def list_audit(*, after: str | None = None, limit: int = 50) -> AuditPage:
    """Return a page of records, newest first."""
    page = await get_kv().list_keys(_AUDIT, after=after, limit=limit, newest_first=True)
    records = await read_each(page.keys, lambda key, value: decode(key, value, AuditRecord))
    return AuditPage(records, page.cursor)


async def delete_audit_before(moment: datetime, *, limit: int) -> list[Operation]:
    """Return the operations that remove the oldest records, from before *moment*; may be empty."""
    page = await get_kv().list_keys(_AUDIT, limit=limit)
    first_kept = _AUDIT + _moment(moment)
    return [Delete(key) for key in page.keys if key < first_kept]


def _moment(at: datetime) -> str:
    return f"{int(at.timestamp() * 1_000_000):014x}"
