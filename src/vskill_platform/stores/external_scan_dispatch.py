"""Asking other programs for a scan: a record that a scanner claims, so none is ever lost."""

from vskill_platform.engines.ports import ABSENT
from vskill_platform.stores.db import get_now
from vskill_platform.stores.external_scan_store import (
    EXTERNAL_SCAN_TIMEOUT,
    IN_FLIGHT,
    ExternalScan,
    ExternalScanStatus,
    finish_external_scan,
    get_external_scan,
    get_overdue_external_scans,
    put_external_scan,
)


async def dispatch_external_scan(slug: str, provider: str) -> bool:
    """Ask *provider* to scan a skill; False when such a scan is in flight already."""
    stored = await get_external_scan(slug, provider)
    if stored is not None and stored.record.status in IN_FLIGHT:
        return False
    now = get_now()
    scan = ExternalScan(
        slug=slug,
        provider=provider,
        status=ExternalScanStatus.PENDING,
        dispatched_at=now,
        deadline=now + EXTERNAL_SCAN_TIMEOUT,
    )
    return await put_external_scan(scan, expected=stored.revision if stored else ABSENT)


async def release_dead_external_scans() -> int:
    """End the scans that nobody finished in time; return how many."""
    overdue = await get_overdue_external_scans(get_now())
    ended = [await finish_external_scan(scan, ExternalScanStatus.TIMED_OUT) for scan in overdue]
    return sum(ended)
