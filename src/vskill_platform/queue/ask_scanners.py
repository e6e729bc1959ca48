"""Tier 2, first half: run the third-party scanners that the policy names.

Local programs run here, each on its own copy. Remote scanners get the archive. If one of them is
required, processing stops here without a message, and its result queues the submission again.
docs/decisions/0010 says why.
"""

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.errors import Overtaken, ScannerFailed
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.scanner import IN_FLIGHT, LocalScanner, OnFail, ScannerInUse
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Finding, FindingKind, Severity
from vskill_platform.publish.versions.apply_registry_rules import is_publishable
from vskill_platform.queue.enter_tier2 import enter_tier2
from vskill_platform.queue.external_scan import MAX_WAITS, ScanSubject, get_or_begin_scan
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.external_scan_store import ExternalScan, get_external_scan
from vskill_platform.stores.records import Stored


class ScannerResults(msgspec.Struct, frozen=True, kw_only=True):
    submission: Stored[Submission]
    #: The findings of tier 1 and the scanners.
    scanned: ScanResult
    #: Required remote scans that have not been answered yet.
    unanswered: tuple[Stored[ExternalScan], ...] = ()


async def ask_scanners(
    claimed: Stored[Submission], snapshot: Snapshot, scanned: ScanResult, stopwatch: Stopwatch
) -> ScannerResults:
    """Run the scanners, if there are any and tier 1 has not rejected the skill."""
    used = bound_env().scanners
    if not used or not is_publishable(claimed.record, scanned):
        return ScannerResults(submission=claimed, scanned=scanned)
    names = ", ".join(one.name for one in used)
    entered = await enter_tier2(claimed, snapshot, scanned, asked=names)

    subject = ScanSubject(entered.record, snapshot, stopwatch)
    outcomes = await settle(lambda one: get_or_begin_scan(one, subject), used)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    scans = [outcome for outcome in outcomes if isinstance(outcome, ExternalScan)]
    stopwatch.lap("scanners")
    return await _add_scanner_findings(entered, scanned, list(zip(used, scans, strict=True)))


async def _add_scanner_findings(
    entered: Stored[Submission],
    scanned: ScanResult,
    scans: list[tuple[ScannerInUse, ExternalScan]],
) -> ScannerResults:
    """Add their findings; a required scanner without a result is an outage, never a pass."""
    required = [(one, scan) for one, scan in scans if one.rule.required]
    findings = [finding for _, scan in scans for finding in scan.findings]
    findings += [_failed(one, scan) for one, scan in required if scan.status == "FAIL"]
    lost = [(one, scan) for one, scan in required if scan.status in {"ERROR", "TIMED_OUT"}]
    for one, scan in lost:
        if isinstance(one.scanner, LocalScanner) or entered.record.waits < MAX_WAITS:
            raise ScannerFailed(f"{one.name} returned no result: {scan.note}")
    findings += [_no_result(one, scan) for one, scan in lost]
    result = renew_verdict(scanned, (*scanned.findings, *findings))
    unanswered = [scan for _, scan in required if scan.status in IN_FLIGHT]
    if not unanswered or not is_publishable(entered.record, result):
        return ScannerResults(submission=entered, scanned=result)
    return ScannerResults(
        submission=entered,
        scanned=result,
        unanswered=tuple([await _unchanged(scan) for scan in unanswered]),
    )


async def _unchanged(scan: ExternalScan) -> Stored[ExternalScan]:
    """Return the scan with its revision; the commit that starts waiting expects it."""
    stored = await get_external_scan(scan.subject, scan.provider)
    if stored is None or stored.record != scan:
        raise Overtaken(f"{scan.provider} has just responded")
    return stored


def _failed(one: ScannerInUse, scan: ExternalScan) -> Finding:
    is_rejected = one.rule.on_fail is OnFail.REJECT
    return Finding(
        rule="EXT-001",
        severity=Severity.CRITICAL if is_rejected else Severity.MEDIUM,
        kind=FindingKind.OPAQUE,  # neither a policy nor the judge may lower it
        message=f"The required scanner {one.name} did not pass: {scan.note or 'it failed'}.",
        fix="Fix its findings, or tell the reviewer why they are harmless.",
        why="The operator requires every skill to pass this scanner before publication.",
    )


def _no_result(one: ScannerInUse, scan: ExternalScan) -> Finding:
    return Finding(
        rule="RUN-EXTERNAL",
        severity=Severity.MEDIUM,
        kind=FindingKind.OPAQUE,
        message=f"The required scanner {one.name} returned no result, {MAX_WAITS} times: "
        f"{scan.note or scan.status}.",
        fix="Wait for a reviewer's decision.",
    )
