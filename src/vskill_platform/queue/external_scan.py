"""One scan of one skill by one third-party scanner: reuse a recent result or start a new scan."""

import asyncio
import hashlib
from datetime import timedelta

import msgspec

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import Overtaken, ScanError, ScannerFailed
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.scanner import (
    ANSWERED,
    IN_FLIGHT,
    ExternalScanResult,
    ExternalScanStatus,
    LocalScanner,
    RemoteScanner,
    ScannerInUse,
)
from vskill_platform.model.submission import Submission
from vskill_platform.publish.versions.version_files import package_skill
from vskill_platform.scan.external.run_scanner import run_scanner
from vskill_platform.scan.external.send_archive import Dispatch, send_archive
from vskill_platform.stores.db import bound_env, get_now, get_settings
from vskill_platform.stores.external_scan_dispatch import begin_external_scan
from vskill_platform.stores.external_scan_store import (
    ExternalScan,
    claim_external_scan,
    end_external_scan,
    get_external_scan,
)

log = get_logger(__name__)

#: How long a result is reused; after that, the scanner may know more.
GOOD_FOR = timedelta(hours=2)
#: How often a submission may wait for remote scanners.
MAX_WAITS = 3
#: Time reserved for storing how a program ended.
_MARGIN_SECONDS = 4.0
_NO_TIME = "there was no time left before the deadline"


class ScanSubject(msgspec.Struct, frozen=True):
    """The files to scan, and the submission that they belong to."""

    submission: Submission
    snapshot: Snapshot
    stopwatch: Stopwatch

    @property
    def seconds_left(self) -> float:
        """How long a scanner may take within the deadline of the whole message."""
        whole = get_settings().message_deadline.total_seconds()
        return whole - self.stopwatch.total_seconds - _MARGIN_SECONDS


async def get_or_begin_scan(one: ScannerInUse, subject: ScanSubject) -> ExternalScan:
    """Return a scan of this content: a recent one, or a new one."""
    stored = await get_external_scan(subject.submission.id, one.name)
    known = stored.record if stored and stored.record.digest == subject.snapshot.digest else None
    if known and known.completed_at and get_now() - known.completed_at < GOOD_FOR:
        is_enough = not one.rule.required  # an optional scanner is asked once
        if known.status in ANSWERED or is_enough:
            return known
    if isinstance(one.scanner, LocalScanner):
        return await _run(one.scanner, subject)
    return await _reach(one, one.scanner, subject, known)


async def _reach(
    one: ScannerInUse, scanner: RemoteScanner, subject: ScanSubject, known: ExternalScan | None
) -> ExternalScan:
    """Wait for a remote scanner that has the archive, or send it, a limited number of times."""
    if known and known.status in IN_FLIGHT and known.deadline > get_now():
        is_taken = known.status is ExternalScanStatus.RUNNING
        return known if is_taken else await _send(scanner, known, subject)
    is_spent = one.rule.required and subject.submission.waits >= MAX_WAITS
    if known and is_spent:
        late = ExternalScanResult(
            status=ExternalScanStatus.TIMED_OUT, note="it did not respond in time"
        )
        return await _end(known, late) if known.status in IN_FLIGHT else known
    begun = await begin_external_scan(
        subject.submission.id, one.name, digest=subject.snapshot.digest, lease=scanner.deadline
    )
    if is_spent:
        note = "the files changed during each scan"
        return await _end(begun, ExternalScanResult(status=ExternalScanStatus.ERROR, note=note))
    return await _send(scanner, begun, subject)


async def _run(scanner: LocalScanner, subject: ScanSubject) -> ExternalScan:
    """Run a program within the message's remaining time, including the wait for a scan slot."""
    settings, snapshot = get_settings(), subject.snapshot
    begun = await begin_external_scan(
        subject.submission.id,
        scanner.name,
        digest=snapshot.digest,
        lease=settings.lease,
        claimed_by=settings.node,
    )
    paths = [file.path for file in snapshot.files]
    try:
        async with (
            asyncio.timeout(subject.seconds_left),
            bound_env().scan_slots,
            open_workspace() as workspace,
        ):
            outcome = await run_scanner(scanner, snapshot.folder, paths, workspace=workspace)
    except TimeoutError:
        outcome = ExternalScanResult(status=ExternalScanStatus.TIMED_OUT, note=_NO_TIME)
    if changed := await work_in_thread(_find_changed, snapshot):
        note = f"{changed} was changed during the scan"
        await _end(begun, ExternalScanResult(status=ExternalScanStatus.ERROR, note=note))
        raise ScanError(note)
    return await _end(begun, outcome)


async def _send(scanner: RemoteScanner, scan: ExternalScan, subject: ScanSubject) -> ExternalScan:
    packed = await package_skill(subject.snapshot)
    base = get_settings().public_url.rstrip("/")
    dispatch = Dispatch(
        scan=scan.scan_id,
        digest=subject.snapshot.digest,
        archive_sha256=packed.sha256,
        callback_url=f"{base}/api/v1/external-scans/{scan.scan_id}/callback",
        deadline=scan.deadline,
        archive=packed.content,
    )
    try:
        async with asyncio.timeout(subject.seconds_left):
            await send_archive(scanner, dispatch, now=get_now())
    except (ScannerFailed, TimeoutError) as error:
        note = str(error) if isinstance(error, ScannerFailed) else _NO_TIME
        return await _end(scan, ExternalScanResult(status=ExternalScanStatus.ERROR, note=note))
    claimed = await claim_external_scan(
        scan.subject, scan.provider, claimed_by=scanner.name, lease=scanner.deadline
    )
    if claimed:
        return claimed
    # The result may have arrived already.
    stored = await get_external_scan(scan.subject, scan.provider)
    if stored is None or stored.record.scan_id != scan.scan_id:
        raise Overtaken(f"the scan of {scan.subject} by {scan.provider} was restarted")
    return stored.record


async def _end(scan: ExternalScan, answer: ExternalScanResult) -> ExternalScan:
    if not await end_external_scan(scan, answer):
        raise Overtaken(
            f"the scan of {scan.subject} by {scan.provider} was ended by another process"
        )
    log.info("external scan finished", submission=scan.subject, scanner=scan.provider,
             status=answer.status, note=answer.note)  # fmt: skip
    return msgspec.structs.replace(
        scan, status=answer.status, findings=answer.findings, note=answer.note
    )


def _find_changed(snapshot: Snapshot) -> str | None:
    """Return a file that has changed, because the published files must be the scanned ones."""
    for file in snapshot.files:
        try:
            with (snapshot.folder / file.path).open("rb") as reading:
                found = hashlib.file_digest(reading, "sha256").hexdigest()
        except OSError as error:
            if is_shortage(error):
                raise
            found = ""
        if found != file.sha256:
            return file.path
    return None
