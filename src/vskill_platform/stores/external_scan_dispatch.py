"""Request scans by third-party scanners: each request is a record that a scanner claims."""

from datetime import timedelta

from vskill_platform.engines.operations import ABSENT
from vskill_platform.errors import Overtaken
from vskill_platform.model.scanner import IN_FLIGHT, ExternalScanResult, ExternalScanStatus
from vskill_platform.stores.db import get_now
from vskill_platform.stores.external_scan_store import (
    EXTERNAL_SCAN_TIMEOUT,
    ExternalScan,
    end_external_scan,
    get_external_scan,
    get_overdue_external_scans,
    new_scan_id,
    put_external_scan,
)
from vskill_platform.stores.records import Stored


async def dispatch_external_scan(subject: str, provider: str) -> bool:
    """Request a scan by *provider*; return False if one is already in progress."""
    stored = await get_external_scan(subject, provider)
    if stored is not None and stored.record.status in IN_FLIGHT:
        return False
    return await _put_new(stored, subject, provider) is not None


async def begin_external_scan(
    subject: str,
    provider: str,
    *,
    digest: str,
    lease: timedelta,
    claimed_by: str | None = None,
) -> ExternalScan:
    """Start a scan of this content, replacing any earlier one.

    Only the holder of the submission's message may call this. An earlier scan then belongs to a
    dead worker or to other content, and its result is no longer accepted. With *claimed_by* the
    scan starts as running.
    """
    stored = await get_external_scan(subject, provider)
    begun = await _put_new(
        stored, subject, provider, digest=digest, lease=lease, claimed_by=claimed_by
    )
    if begun is None:
        raise Overtaken(f"the scan of {subject} by {provider} was changed concurrently")
    return begun


async def release_dead_external_scans() -> int:
    """End scans that did not finish in time; return how many."""
    late = ExternalScanResult(
        status=ExternalScanStatus.TIMED_OUT, note="it did not respond in time"
    )
    overdue = await get_overdue_external_scans(get_now())
    return sum([await end_external_scan(scan, late) for scan in overdue])


async def _put_new(
    stored: Stored[ExternalScan] | None,
    subject: str,
    provider: str,
    *,
    digest: str | None = None,
    lease: timedelta = EXTERNAL_SCAN_TIMEOUT,
    claimed_by: str | None = None,
) -> ExternalScan | None:
    now = get_now()
    scan = ExternalScan(
        subject=subject,
        provider=provider,
        status=ExternalScanStatus.RUNNING if claimed_by else ExternalScanStatus.PENDING,
        dispatched_at=now,
        deadline=now + lease,
        scan_id=new_scan_id(subject, provider),
        claimed_by=claimed_by,
        digest=digest,
    )
    is_stored = await put_external_scan(scan, expected=stored.revision if stored else ABSENT)
    return scan if is_stored else None
