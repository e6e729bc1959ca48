"""Scans by third-party scanners: one record per subject and provider, with a lease.

The subject is a submission, not a slug: before the publication no one owns a slug, and a clean
result of one submission must not apply to another one with the same slug.
"""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.model.scanner import (
    IN_FLIGHT,
    MAX_FINDINGS,
    ExternalScanResult,
    ExternalScanStatus,
)
from vskill_platform.model.submission import Cause, SubmissionState, move
from vskill_platform.model.verdict import Finding
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_kv, get_now
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)
from vskill_platform.stores.submission_messages import queue_submission
from vskill_platform.stores.submission_store import get_submission, write_submission

_EXTERNAL_SCAN = "extscan:"
_USED = "extscan-heard:"
#: The time after which an unfinished scan has timed out.
EXTERNAL_SCAN_TIMEOUT = timedelta(minutes=20)


class ExternalScan(Record, frozen=True, kw_only=True):
    subject: str
    provider: str
    status: ExternalScanStatus
    dispatched_at: datetime
    #: When an unfinished scan counts as timed out.
    deadline: datetime
    #: Identifies this request; results of earlier requests are not accepted.
    scan_id: str = ""
    claimed_by: str | None = None
    completed_at: datetime | None = None
    #: The digest of the scanned content, so that a clean result does not apply to other content.
    digest: str | None = None
    findings: tuple[Finding, ...] = ()
    #: Why there is no result, in words.
    note: str = ""


class UsedSignature(msgspec.Struct, frozen=True, kw_only=True):
    """A received message that must not be accepted twice."""

    signature: str
    #: After this time, the message is refused because of its age.
    until: datetime


def new_scan_id(subject: str, provider: str) -> str:
    """Return an unguessable id that contains subject and provider."""
    return f"{subject}.{provider}.{secrets.token_hex(16)}"


def split_scan_id(scan_id: str) -> tuple[str, str] | None:
    """Return subject and provider of a scan's id; None if it is malformed."""
    parts = scan_id.rsplit(".", 2)
    return (parts[0], parts[1]) if len(parts) == 3 and all(parts) else None  # noqa: PLR2004 - the parts of a key


async def get_external_scan(subject: str, provider: str) -> Stored[ExternalScan] | None:
    return await get_record(_key(subject, provider), ExternalScan)


async def get_external_scans(subject: str) -> list[ExternalScan]:
    """Return the scans of a subject by all providers, read at once."""
    keys = await list_all_keys(f"{_EXTERNAL_SCAN}{subject}:")
    return await read_each(keys, _decode)


async def get_overdue_external_scans(now: datetime) -> list[ExternalScan]:
    """Return overdue scans that are still in progress."""
    overdue = await read_each(await list_all_keys(_EXTERNAL_SCAN, due_before=now), _decode)
    return [scan for scan in overdue if scan.status in IN_FLIGHT and scan.deadline <= now]


def delete_external_scans(scans: Sequence[ExternalScan]) -> list[Operation]:
    return [Delete(_key(scan.subject, scan.provider)) for scan in scans]


def write_external_scan(scan: ExternalScan, *, expected: int) -> Operation:
    capped = msgspec.structs.replace(scan, findings=scan.findings[:MAX_FINDINGS])
    due = scan.deadline if scan.status in IN_FLIGHT else NEVER
    return Put(_key(scan.subject, scan.provider), encode(capped), expected=expected, due=due)


async def put_external_scan(scan: ExternalScan, *, expected: int = ABSENT) -> bool:
    """Store a scan; return False if another writer was faster."""
    return await commit([write_external_scan(scan, expected=expected)]) is not None


async def claim_external_scan(
    subject: str,
    provider: str,
    *,
    claimed_by: str,
    lease: timedelta = EXTERNAL_SCAN_TIMEOUT,
) -> ExternalScan | None:
    """Claim a pending scan; None if there is none or another worker was faster."""
    stored = await get_external_scan(subject, provider)
    if stored is None or stored.record.status is not ExternalScanStatus.PENDING:
        return None
    claimed = msgspec.structs.replace(
        stored.record,
        status=ExternalScanStatus.RUNNING,
        claimed_by=claimed_by,
        deadline=get_now() + lease,
    )
    return claimed if await put_external_scan(claimed, expected=stored.revision) else None


async def end_external_scan(
    scan: ExternalScan,
    answer: ExternalScanResult,
    *,
    used: UsedSignature | None = None,
) -> bool:
    """End a scan, once, and wake the waiting submission, in one commit.

    If the commit conflicts, it is planned again: another scan of the submission may have ended at
    the same time, or the submission may just have started to wait.
    """
    ended = msgspec.structs.replace(
        scan,
        status=answer.status,
        completed_at=get_now(),
        findings=answer.findings,
        note=answer.note,
    )

    async def plan() -> PlannedChange[bool]:
        stored = await get_external_scan(scan.subject, scan.provider)
        if stored is None or stored.record != scan or (used and await _is_known(used)):
            return PlannedChange(result=False)
        operations = [
            write_external_scan(ended, expected=stored.revision),
            *await _wake(ended),
            *([_remember(used)] if used else []),
        ]
        return PlannedChange(operations=operations, result=True)

    return await change(f"the scan of {scan.subject} by {scan.provider}", plan)


async def _wake(scan: ExternalScan) -> list[Operation]:
    """Return the operations that wake the submission waiting for this scan, if any."""
    stored = await get_submission(scan.subject)
    waiting = stored.record.waiting if stored else None
    if stored is None or waiting is None or scan.provider not in waiting.scanners:
        return []
    others = tuple(name for name in waiting.scanners if name != scan.provider)
    if others:
        rest = msgspec.structs.replace(waiting, scanners=others)
        waits = msgspec.structs.replace(stored.record, waiting=rest)
        return write_submission(waits, [], expected=stored.revision)
    reason = f"{scan.provider} was the last to answer ({scan.status}); processing continues"
    cause = Cause(trigger="external-scan", actor=scan.provider, reason=reason)
    moved, event = move(stored.record, SubmissionState.RECEIVED, cause, now=get_now())
    return [
        *write_submission(moved, [event], expected=stored.revision),
        queue_submission(moved),
    ]


async def _is_known(used: UsedSignature) -> bool:
    return await get_kv().get(_used_key(used)) is not None


def _remember(used: UsedSignature) -> Operation:
    return Put(_used_key(used), b"", expected=ABSENT, due=NEVER, expires_at=used.until)


def _used_key(used: UsedSignature) -> str:
    return _USED + hashlib.sha256(used.signature.encode()).hexdigest()


def _key(subject: str, provider: str) -> str:
    return f"{_EXTERNAL_SCAN}{subject}:{provider}"


def _decode(key: str, value: bytes) -> ExternalScan:
    return decode(key, value, ExternalScan)
