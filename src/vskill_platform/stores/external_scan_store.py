"""Scans by other programs: one record a skill and provider, with a lease while one is at work."""

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from vskill_platform.engines.ports import ABSENT, NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.model.verdict import Finding
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

_EXTERNAL_SCAN = "extscan:"
#: A scan that nobody finished by then is over.
EXTERNAL_SCAN_TIMEOUT = timedelta(minutes=20)
#: More findings of one scan are not kept.
MAX_FINDINGS = 100


class ExternalScanStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    PASS = "PASS"  # noqa: S105 - a status
    FAIL = "FAIL"
    ERROR = "ERROR"
    TIMED_OUT = "TIMED_OUT"


IN_FLIGHT = frozenset({ExternalScanStatus.PENDING, ExternalScanStatus.RUNNING})


class ExternalScan(Record, frozen=True, kw_only=True):
    slug: str
    provider: str
    status: ExternalScanStatus
    dispatched_at: datetime
    #: When an unfinished scan counts as timed out.
    deadline: datetime
    claimed_by: str | None = None
    completed_at: datetime | None = None
    #: Which content was scanned, so that a clean version cannot vouch for another.
    digest: str | None = None
    findings: tuple[Finding, ...] = ()


async def get_external_scan(slug: str, provider: str) -> Stored[ExternalScan] | None:
    return await get_record(_key(slug, provider), ExternalScan)


async def get_external_scans(slug: str) -> list[ExternalScan]:
    """Return what every provider says of a skill, read all at once."""
    keys = await list_all_keys(f"{_EXTERNAL_SCAN}{slug}:")
    return await read_each(keys, _decode)


async def get_overdue_external_scans(now: datetime) -> list[ExternalScan]:
    """Return the scans that should have ended by now but are still in flight."""
    overdue = await read_each(await list_all_keys(_EXTERNAL_SCAN, due_before=now), _decode)
    return [scan for scan in overdue if scan.status in IN_FLIGHT and scan.deadline <= now]


async def put_external_scan(scan: ExternalScan, *, expected: int = ABSENT) -> bool:
    """Store a scan unless somebody was faster; say whether it was stored."""
    capped = msgspec.structs.replace(scan, findings=scan.findings[:MAX_FINDINGS])
    due = scan.deadline if scan.status in IN_FLIGHT else NEVER
    put = Put(_key(scan.slug, scan.provider), encode(capped), expected=expected, due=due)
    return await commit([put]) is not None


async def claim_external_scan(slug: str, provider: str, *, claimed_by: str) -> ExternalScan | None:
    """Take a pending scan to run it; None if there is none or another was faster."""
    stored = await get_external_scan(slug, provider)
    if stored is None or stored.record.status is not ExternalScanStatus.PENDING:
        return None
    claimed = msgspec.structs.replace(
        stored.record,
        status=ExternalScanStatus.RUNNING,
        claimed_by=claimed_by,
        deadline=get_now() + EXTERNAL_SCAN_TIMEOUT,
    )
    return claimed if await put_external_scan(claimed, expected=stored.revision) else None


async def finish_external_scan(
    scan: ExternalScan,
    status: ExternalScanStatus,
    *,
    digest: str | None = None,
    findings: tuple[Finding, ...] = (),
) -> bool:
    """Write down how a scan ended; refused when it is no longer this one that is in flight."""
    stored = await get_external_scan(scan.slug, scan.provider)
    if stored is None or stored.record != scan:
        return False
    finished = msgspec.structs.replace(
        scan, status=status, completed_at=get_now(), digest=digest, findings=findings
    )
    return await put_external_scan(finished, expected=stored.revision)


def _key(slug: str, provider: str) -> str:
    return f"{_EXTERNAL_SCAN}{slug}:{provider}"


def _decode(key: str, value: bytes) -> ExternalScan:
    return decode(key, value, ExternalScan)
