"""Rescan published skills with the current rules and policy; report changed verdicts.

This takes nothing down. Results are stored with the rules and policy that were used, so an
interrupted run can continue, and a second run repeats nothing. Only a request for a full rescan
checks everything again.
"""

from collections.abc import Callable
from datetime import date, timedelta

import msgspec

from vskill_platform.base.settle import settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.decision import Outcome
from vskill_platform.model.policy import digest_of
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.verdict import Finding, Report
from vskill_platform.publish.rescans.rescan_requests import (
    get_open_rescan_request,
    get_open_stored_request,
)
from vskill_platform.publish.versions.check_version import check_version, opened_version
from vskill_platform.publish.versions.trust_of_skill import find_reviewer
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.scan_skill import SCANNER
from vskill_platform.stores.db import bound_env, commit, get_now, get_settings
from vskill_platform.stores.records import Stored
from vskill_platform.stores.rescan_store import (
    Rescan,
    RescanDone,
    RescanRequest,
    delete_one_rescan_request,
    get_one_rescan_request,
    get_rescan,
    get_rescan_done,
    get_rescan_request,
    get_rescans,
    list_one_rescan_requests,
    standard_id,
    write_rescan,
    write_rescan_done,
)
from vskill_platform.stores.scan_store import get_report_on, get_stored_report_on
from vskill_platform.stores.skill_store import get_skill, list_skills
from vskill_platform.stores.submission_store import get_history, get_submission
from vskill_platform.stores.version_store import get_version

log = get_logger(__name__)

#: No rescan starts later in a run: it may take three attempts with a deadline each.
BEGUN_WITHIN = timedelta(minutes=5)


class RescanRun(msgspec.Struct, frozen=True, kw_only=True):
    checked: int = 0
    worse: int = 0
    failed: int = 0
    left: int = 0

    def in_words(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        look = " (see `rescan --report`)" if self.worse else ""
        return f"{self.checked} rescanned, {self.worse} got worse{look}{failed}, {self.left} left"


def current_standard() -> str:
    """Return the id of the current rules and policy; an expired suppression changes it."""
    policy, today = bound_env().policy, get_now().date()
    expired = [item.is_expired(today) for item in policy.suppressions]
    return standard_id(SCANNER, ruleset_version(), digest_of(policy), expired)


async def is_rescanned() -> bool:
    """Return whether everything was checked with the current rules and no request is open."""
    done = await get_rescan_done()
    if done is None or done.standard != current_standard():
        return False
    if await list_one_rescan_requests():
        return False
    return await get_open_rescan_request() is None


async def list_due_skills() -> list[PublishedSkill]:
    """Return the listed skills that were not checked with the current rules and policy.

    After a request for a full rescan, these are all skills that were not checked since. Skills with
    a request of their own come first.
    """
    known, asked = await get_rescans(current_standard()), await get_open_stored_request()
    requested = await list_one_rescan_requests()
    skills = [
        skill
        for skill in await list_skills()
        if skill.digest
        and (skill.slug in requested or not _is_known(known.get(skill.slug), skill, asked))
    ]
    reports = await settle(
        lambda skill: get_stored_report_on(skill.submission_id, skill.digest), skills
    )
    due = [
        skill
        for skill, report in zip(skills, reports, strict=True)
        if skill.slug in requested or not _answers(report, skill, asked)
    ]
    return sorted(due, key=lambda skill: skill.slug not in requested)


async def rescan_skills(
    skills: list[PublishedSkill], *, limit: int, on_progress: Callable[[], None] = lambda: None
) -> RescanRun:
    """Check up to *limit* of these again, concurrently, each in a killable process.

    After a while no more are started, so that a run ends well before its lease.
    """
    until = get_now() + BEGUN_WITHIN
    asked = await get_rescan_request()
    request_id = asked.record.id if asked else ""
    left = max(len(skills) - limit, 0)

    async def rescan_and_report(skill: PublishedSkill) -> Rescan | None:
        nonlocal left
        if get_now() >= until:
            left += 1
            return None
        try:
            return await _rescan_and_end_request(skill, request_id)
        finally:
            on_progress()

    chosen = skills[:limit]
    outcomes = await settle(rescan_and_report, chosen, at_once=_at_once())
    failed = 0
    for skill, outcome in zip(chosen, outcomes, strict=True):
        if isinstance(outcome, Exception):
            failed += 1
            log.error("rescan failed", slug=skill.slug, error=str(outcome))
    found = [outcome for outcome in outcomes if isinstance(outcome, Rescan)]
    for rescan in found:
        _log_if_worse(rescan)
    if not (left or failed):
        await note_all_rescanned(asked)
    worse = sum(rescan.is_worse for rescan in found)
    return RescanRun(checked=len(found), worse=worse, failed=failed, left=left)


def rescan_subject(skill: PublishedSkill, asked: Stored[RescanRequest] | None) -> str:
    """Identify what a rescan of this skill would check, so that a failed one is not repeated."""
    return f"{current_standard()}:{skill.digest}:{asked.record.id if asked else ''}"


async def note_all_rescanned(asked: Stored[RescanRequest] | None) -> None:
    """Record that everything published was checked, which fulfils the request *asked*."""
    request_id = asked.record.id if asked else ""
    done = RescanDone(standard=current_standard(), at=get_now(), request_id=request_id)
    await commit([write_rescan_done(done)])


async def plan_rescan(slug: str) -> list[Operation]:
    """Check one skill again; return the operations. The caller holds a scan slot.

    If the skill is no longer published, or was checked in the meantime, there are none.
    """
    stored, asked = await get_skill(slug), await get_rescan_request()
    if stored is None or stored.record.down or not await _is_due(stored.record):
        return []
    one = await get_one_rescan_request(slug)
    rescan = await _rescan(stored.record, asked.record.id if asked else "", has_slot=True)
    _log_if_worse(rescan)
    answered = [delete_one_rescan_request(slug, expected=one.revision)] if one else []
    return [write_rescan(rescan), *answered]


async def _is_due(skill: PublishedSkill) -> bool:
    """Return whether `list_due_skills` lists this skill."""
    if not skill.digest:
        return False
    if await get_one_rescan_request(skill.slug):
        return True
    known, asked = (
        await get_rescan(current_standard(), skill.slug),
        await get_open_stored_request(),
    )
    if _is_known(known, skill, asked):
        return False
    report = await get_stored_report_on(skill.submission_id, skill.digest)
    return not _answers(report, skill, asked)


async def list_changed() -> list[Rescan]:
    """Return the rescans that changed a verdict, of skills that are unchanged since."""
    known = await get_rescans(current_standard())
    return [
        known[skill.slug]
        for skill in await list_skills()
        if skill.slug in known
        and _is_about(known[skill.slug], skill)
        and known[skill.slug].is_changed
    ]


async def _rescan_and_end_request(skill: PublishedSkill, request_id: str) -> Rescan:
    """Check one skill, then delete its request, if there was one before the check."""
    asked = await get_one_rescan_request(skill.slug)
    rescan = await _rescan(skill, request_id)
    await commit([write_rescan(rescan)])
    if asked:
        await commit([delete_one_rescan_request(skill.slug, expected=asked.revision)])
    return rescan


def _log_if_worse(rescan: Rescan) -> None:
    if rescan.is_worse:
        log.warning("rescan result is worse", slug=rescan.slug, new=rescan.new, why=rescan.clause)


async def _rescan(skill: PublishedSkill, request_id: str, *, has_slot: bool = False) -> Rescan:
    submission = await get_submission(skill.submission_id)
    version = await get_version(skill.slug, skill.latest_number) if skill.latest_number else None
    if submission is None or version is None:
        raise RecordMalformed(f"{skill.slug} cannot be checked: its version is missing")
    reviewer = find_reviewer(await get_history(skill.submission_id), version)
    approved = await get_report_on(skill.submission_id, version.digest) if reviewer else None
    async with opened_version(version, submission.record) as snapshot:
        checked = await check_version(submission.record, snapshot, has_slot=has_slot)
    decision = checked.decision
    unseen = [item for item in decision.deciding if not _was_seen(item, approved)]
    is_unseen = bool(reviewer and unseen and decision.outcome is Outcome.REVIEW)
    clause = (
        f"new since {reviewer} approved it: {decision.clause}" if is_unseen else decision.clause
    )
    first = unseen if is_unseen else decision.deciding
    return Rescan(
        slug=skill.slug,
        version=skill.version,
        digest=version.digest,
        standard=current_standard(),
        old=Outcome.REVIEW if reviewer else Outcome.PUBLISH,
        new=decision.outcome,
        clause=clause,
        finding=first[0] if first else None,
        checked_at=get_now(),
        is_unseen=is_unseen,
        request_id=request_id,
    )


def _at_once() -> int:
    """Leave half of the scan slots to submissions."""
    return max(get_settings().scan_processes // 2, 1)


def _is_about(rescan: Rescan | None, skill: PublishedSkill) -> bool:
    return rescan is not None and rescan.digest == skill.digest


def _is_known(
    rescan: Rescan | None, skill: PublishedSkill, asked: Stored[RescanRequest] | None
) -> bool:
    if rescan is None or not _is_about(rescan, skill):
        return False
    return asked is None or rescan.request_id == asked.record.id


def _answers(report: object, skill: PublishedSkill, asked: Stored[RescanRequest] | None) -> bool:
    """Return whether the last report on a skill makes a rescan unnecessary."""
    return (
        isinstance(report, Stored)
        and _is_current(report.record, skill, get_now().date())
        and (asked is None or report.revision > asked.revision)
    )


def _was_seen(finding: Finding, approved: Report | None) -> bool:
    """Return whether a finding was in the report that the reviewer approved."""
    return approved is not None and _identity(finding) in map(_identity, approved.findings)


def _identity(finding: Finding) -> tuple[object, ...]:
    if finding.fingerprint:
        return finding.rule, finding.fingerprint
    return finding.rule, finding.file, finding.line, finding.message


def _is_current(report: Report, skill: PublishedSkill, today: date) -> bool:
    """Return whether its last check used the current rules."""
    is_same = (report.digest, report.scanner, report.ruleset, report.policy) == (
        skill.digest,
        SCANNER,
        ruleset_version(),
        digest_of(bound_env().policy),
    )
    marks = [item.suppression for item in report.findings if item.suppression]
    return is_same and not any(not mark.is_expired and mark.expires < today for mark in marks)
