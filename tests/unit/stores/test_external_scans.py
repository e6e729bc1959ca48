"""Scans by third-party scanners: requested once, claimed once, always ended."""

import asyncio
from datetime import timedelta

from tests.clocks import ManualClock
from vskill_platform.errors import Overtaken
from vskill_platform.model.scanner import MAX_FINDINGS, ExternalScanResult, ExternalScanStatus
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.external_scan_dispatch import (
    begin_external_scan,
    dispatch_external_scan,
    release_dead_external_scans,
)
from vskill_platform.stores.external_scan_store import (
    claim_external_scan,
    end_external_scan,
    get_external_scan,
    get_external_scans,
)

FINDING = Finding(rule="X-1", severity=Severity.LOW, message="odd", fix="fix it")


async def status_of(slug: str, provider: str) -> ExternalScanStatus:
    stored = await get_external_scan(slug, provider)
    assert stored
    return stored.record.status


async def test_a_scan_is_asked_for_once_while_it_is_in_flight(bound: WorkerEnv) -> None:
    asked = await asyncio.gather(*(dispatch_external_scan("a/b/c", "semgrep") for _ in range(5)))

    assert sorted(asked) == [False, False, False, False, True]
    assert await status_of("a/b/c", "semgrep") is ExternalScanStatus.PENDING


async def test_only_one_scanner_gets_a_pending_scan(bound: WorkerEnv) -> None:
    await dispatch_external_scan("a/b/c", "semgrep")

    claims = await asyncio.gather(
        *(claim_external_scan("a/b/c", "semgrep", claimed_by=f"vm-{n}") for n in range(4))
    )

    assert sum(claim is not None for claim in claims) == 1
    assert await claim_external_scan("a/b/c", "gitleaks", claimed_by="vm") is None


async def test_a_finished_scan_keeps_its_first_findings_and_can_be_asked_for_again(
    bound: WorkerEnv,
) -> None:
    await dispatch_external_scan("a/b/c", "semgrep")
    scan = await claim_external_scan("a/b/c", "semgrep", claimed_by="vm")
    assert scan

    done = await end_external_scan(
        scan,
        ExternalScanResult(
            status=ExternalScanStatus.FAIL, findings=(FINDING,) * (MAX_FINDINGS + 5)
        ),
    )

    assert done
    (stored,) = await get_external_scans("a/b/c")
    assert stored.status is ExternalScanStatus.FAIL
    assert len(stored.findings) == MAX_FINDINGS
    assert await dispatch_external_scan("a/b/c", "semgrep")


async def test_a_scan_that_nobody_finishes_times_out(bound: WorkerEnv, clock: ManualClock) -> None:
    await dispatch_external_scan("a/b/c", "semgrep")
    await dispatch_external_scan("a/b/c", "gitleaks")
    late = await claim_external_scan("a/b/c", "gitleaks", claimed_by="vm")
    assert late
    clock.advance(minutes=19)
    before = await release_dead_external_scans()

    clock.advance(minutes=1)
    after = await release_dead_external_scans()

    assert (before, after) == (0, 2)
    assert await status_of("a/b/c", "semgrep") is ExternalScanStatus.TIMED_OUT
    assert not await end_external_scan(late, ExternalScanResult(status=ExternalScanStatus.PASS))
    assert await release_dead_external_scans() == 0


async def test_a_restarted_scan_rejects_an_answer_to_the_old_one(bound: WorkerEnv) -> None:
    lease = timedelta(minutes=1)
    old = await begin_external_scan(
        "sub_1", "gitleaks", digest="d1", lease=lease, claimed_by="dead-node"
    )
    new = await begin_external_scan(
        "sub_1", "gitleaks", digest="d1", lease=lease, claimed_by="node-1"
    )

    refused = await end_external_scan(old, ExternalScanResult(status=ExternalScanStatus.PASS))
    taken = await end_external_scan(new, ExternalScanResult(status=ExternalScanStatus.FAIL))

    assert (refused, taken) == (False, True)
    assert await status_of("sub_1", "gitleaks") is ExternalScanStatus.FAIL


async def test_of_two_that_begin_a_scan_at_once_one_is_overtaken(bound: WorkerEnv) -> None:
    begun = await asyncio.gather(
        *(
            begin_external_scan("sub_1", "gitleaks", digest="d1", lease=timedelta(minutes=1))
            for _ in range(3)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(one, Overtaken) for one in begun) == 2
