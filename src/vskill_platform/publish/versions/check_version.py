"""Check a published version again from its archive, with the current rules and policy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from anyio import CapacityLimiter

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import RecordMalformed, ScanError
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.decision import Decision, Outcome
from vskill_platform.model.failure import NO_SCANNER
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.submission import Submission
from vskill_platform.model.verdict import Report, Verdict
from vskill_platform.publish.versions.apply_registry_rules import (
    apply_registry_rules,
    build_report,
    decide_about,
)
from vskill_platform.publish.versions.version_files import unpacked_version
from vskill_platform.scan.apply_policy import rule_kinds
from vskill_platform.scan.check_skill import check_skill
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict
from vskill_platform.stores.db import bound_env, get_now, get_settings
from vskill_platform.stores.end_submission import unverified
from vskill_platform.stores.scan_store import get_report_on
from vskill_platform.stores.version_store import get_archive

log = get_logger(__name__)

#: After this many failures, the skill is considered the cause.
_TRIES = 3


class CheckedVersion(msgspec.Struct, frozen=True, kw_only=True):
    decision: Decision
    report: Report
    #: None if no scanner finished.
    scanned: ScanResult | None = None


@asynccontextmanager
async def opened_version(version: SkillVersion, submission: Submission) -> AsyncIterator[Snapshot]:
    """Unpack the files of a version; raise if they are not the published ones."""
    name = f"{version.slug} {version.version}"
    content = await get_archive(version.archive_sha256)
    if content is None:
        raise RecordMalformed(f"the archive of {name} is missing")
    async with unpacked_version(content, submission, commit_sha=version.commit_sha) as snapshot:
        if snapshot.digest != version.digest:
            raise RecordMalformed(f"the archive of {name} does not contain the published files")
        yield snapshot


async def check_version(
    submission: Submission, snapshot: Snapshot, *, has_slot: bool = False
) -> CheckedVersion:
    """Check it like the pipeline, with stored results of the judge and third-party scanners.

    If the scanner fails, the version is not verified and needs review. Each attempt waits for a
    scan slot, unless the caller has one.
    """
    known = await get_report_on(submission.id, snapshot.digest)
    try:
        scanned = await _check_with_retries(snapshot, None if has_slot else bound_env().scan_slots)
    except ScanError as error:
        return _unverified(submission, snapshot, known, error)
    scanned = await apply_registry_rules(submission, snapshot, scanned)
    others = [item for item in (known.findings if known else ()) if _is_third_party(item.rule)]
    whole = renew_verdict(scanned, (*scanned.findings, *others))
    decision = decide_about(submission, whole)
    report = msgspec.structs.replace(
        build_report(submission, snapshot, whole, known.judgement if known else None),
        decided=decision.clause,
    )
    return CheckedVersion(decision=decision, report=report, scanned=whole)


def _unverified(
    submission: Submission, snapshot: Snapshot, known: Report | None, error: ScanError
) -> CheckedVersion:
    finding = unverified(
        rule="RUN-SCANNER", message=f"Not verified: {error}.", fix="Ask a reviewer to decide."
    )
    decision = Decision(outcome=Outcome.REVIEW, clause=str(error), deciding=(finding,))
    report = Report(
        submission_id=submission.id,
        verdict=Verdict.REVIEW,
        findings=(finding, *(known.findings if known else ())),
        digest=snapshot.digest,
        scanner=NO_SCANNER,
        checked_at=get_now(),
        duration_seconds=0,
        judgement=known.judgement if known else None,
        decided=decision.clause,
    )
    return CheckedVersion(decision=decision, report=report)


async def _check_with_retries(snapshot: Snapshot, slots: CapacityLimiter | None) -> ScanResult:
    """Retry after a failure, like the pipeline, because the skill may not be the cause."""
    for _ in range(_TRIES - 1):
        try:
            return await _check_in_time(snapshot, slots)
        except ScanError as error:
            log.warning("check failed", digest=snapshot.digest, error=str(error))
    return await _check_in_time(snapshot, slots)


async def _check_in_time(snapshot: Snapshot, slots: CapacityLimiter | None) -> ScanResult:
    try:
        async with asyncio.timeout(get_settings().message_deadline.total_seconds()):
            return await check_skill(snapshot.folder, folder_name=snapshot.folder_name, slots=slots)
    except TimeoutError as error:
        raise ScanError("the check took too long") from error


def _is_third_party(rule: str) -> bool:
    """Return whether a finding is from a judge or another scanner, not from our rules."""
    return rule not in rule_kinds() and not rule.startswith(("RUN-", "LIM-", "MAN-"))
