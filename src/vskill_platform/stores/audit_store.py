"""The audit log: who did what, when and why, written in the same commit and never changed."""

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
    #: Who did it: a person, or a node.
    actor: str
    #: What was done, such as `block add`.
    action: str
    #: What it was done to.
    subject: str
    reason: str
    #: What followed from it, in words.
    outcome: str = ""


class AuditPage(msgspec.Struct, frozen=True):
    records: list[AuditRecord]
    cursor: str | None


def write_audit(
    action: str, subject: str, *, actor: str, reason: str, outcome: str = ""
) -> Operation:
    """Say what to write down; it belongs into the commit that does the deed."""
    now = get_now()
    record = AuditRecord(
        at=now, actor=actor, action=action, subject=subject, reason=reason, outcome=outcome
    )
    # The moment makes the order, the rest keeps two of the same moment apart.
    key = f"{_AUDIT}{_moment(now)}{secrets.token_hex(8)}"
    return Put(key, encode(record), expected=ABSENT, due=NEVER)


async def list_audit(*, after: str | None = None, limit: int = 50) -> AuditPage:
    """Return a page of records, the newest first."""
    page = await get_kv().list_keys(_AUDIT, after=after, limit=limit, newest_first=True)
    records = await read_each(page.keys, lambda key, value: decode(key, value, AuditRecord))
    return AuditPage(records, page.cursor)


async def delete_audit_before(moment: datetime, *, limit: int) -> list[Operation]:
    """Say how to remove the oldest records, those from before *moment*; none if there are none."""
    page = await get_kv().list_keys(_AUDIT, limit=limit)
    first_kept = _AUDIT + _moment(moment)
    return [Delete(key) for key in page.keys if key < first_kept]


def _moment(at: datetime) -> str:
    return f"{int(at.timestamp() * 1_000_000):014x}"
