"""Cron job: remove records past their retention, abandoned folders and held files."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from vskill_platform.base.off_loop import work_in_thread
from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Drop, Operation
from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.fetch.temporary_folders import sweep_workspaces
from vskill_platform.model.scanner import IN_FLIGHT
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.submission import TERMINAL_STATES, Submission, SubmissionState
from vskill_platform.publish.moderation.delete_skill import delete_skill
from vskill_platform.stores.audit_store import delete_audit_before
from vskill_platform.stores.cron_store import get_cursor, put_cursor
from vskill_platform.stores.db import bound_env, commit, get_now, get_queue, get_settings
from vskill_platform.stores.external_scan_store import delete_external_scans, get_external_scans
from vskill_platform.stores.held_store import drop_held, get_held, list_held, release_held
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import delete_report, has_published_report
from vskill_platform.stores.skill_store import iterate_slugs, read_skills
from vskill_platform.stores.submission_set_store import leave_set
from vskill_platform.stores.submission_store import (
    delete_submission,
    get_submission,
    list_submissions_after,
)
from vskill_platform.stores.version_store import get_versions

log = get_logger(__name__)

#: A reader of the change feed that was disconnected for longer reads everything again.
FEED_RETENTION = timedelta(days=7)
#: How long the files of unpublished submissions stay available.
HELD_FOR = timedelta(days=30)
_AT_ONCE = 64


async def prune() -> str:
    env = bound_env()
    removed = await env.engine.prune(deleted_before=env.clock.now() - FEED_RETENTION)
    swept = await work_in_thread(sweep_workspaces)
    held = await _drop_held()
    letters = await prune_dead_letters()  # first, because a submission that has one is kept
    failed = await prune_failed_submissions()
    audited = await prune_audit()
    yanked = await prune_yanked()
    return (
        f"{count_of(removed, 'record')}, {count_of(swept, 'abandoned folder')}, "
        f"{count_of(held, 'held skill')}, {count_of(failed, 'failed submission')}, "
        f"{count_of(letters, 'dead letter')}, {count_of(yanked, 'yanked version')} and "
        f"{count_of(audited, 'audit record')} removed"
    )


async def _drop_held() -> int:
    """Remove held files that no longer need a decision."""
    outcomes = await settle(_drop_if_ended, await list_held(), at_once=_AT_ONCE)
    for error in (outcome for outcome in outcomes if isinstance(outcome, Exception)):
        log.error("held skill not pruned", error=str(error))
    return outcomes.count(True)


async def _drop_if_ended(submission_id: str) -> bool:
    held, stored = await get_held(submission_id), await get_submission(submission_id)
    if held is None:
        return False
    if stored:
        has_ended = stored.record.state in TERMINAL_STATES
        if not has_ended or get_now() - stored.record.updated_at < HELD_FOR:
            return False
    return await commit(drop_held(held.record, expected=held.revision)) is not None


_S = SubmissionState
#: Final states without a publication. A blocked submission is evidence and stays.
_FAILED_STATES = frozenset({_S.TIER1_FAILED, _S.REJECTED, _S.DEQUEUED})
#: How many submissions are checked per commit and per run; the next run continues after them.
_PAGE, _PAGES = 200, 100
_CURSOR = "prune-failed"
_REMOVALS_AT_ONCE = 32
_LETTERS = 500


async def prune_failed_submissions() -> int:
    """Remove submissions that ended unpublished before VSKILL_KEEP_FAILED."""
    before = _before(get_settings().keep_failed)
    if before is None:
        return 0
    dead = {letter.key async for page in iterate_dead_letters() for letter in page}
    removed, after = 0, await get_cursor(_CURSOR)
    for _ in range(_PAGES):
        page, after = await list_submissions_after(after, limit=_PAGE)
        old = [one for one in page if is_old_failure(one.record, before)]
        removed += await _remove([one for one in old if one.record.id not in dead])
        if page and page[-1].record.created_at >= before:
            after = None  # the rest are younger
        if after is None:
            break
    await put_cursor(_CURSOR, after)
    return removed


def is_old_failure(submission: Submission, before: datetime) -> bool:
    has_failed = submission.state in _FAILED_STATES and submission.slug is None
    return has_failed and submission.updated_at < before


async def _remove(old: Sequence[Stored[Submission]]) -> int:
    queued = await get_queue().pending([one.record.id for one in old])
    outcomes = await settle(
        removal_of,
        [one for one in old if one.record.id not in queued],
        at_once=_REMOVALS_AT_ONCE,
    )
    members: dict[str, set[str]] = defaultdict(set)
    operations: list[Operation] = []
    removed = 0
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            log.error("submission not pruned", error=str(outcome))
            continue
        submission, removal = outcome
        if not removal:
            continue
        operations += removal
        removed += 1
        if submission.set_id:
            members[submission.set_id].add(submission.id)
    for set_id, submission_ids in members.items():
        operations += await leave_set(set_id, submission_ids)
    if not operations or await commit(operations) is None:  # one has changed: the next run retries
        return 0
    return removed


async def removal_of(stored: Stored[Submission]) -> tuple[Submission, list[Operation]]:
    submission = stored.record
    scans = await get_external_scans(submission.id)
    is_scanned = any(scan.status in IN_FLIGHT for scan in scans)
    if is_scanned or await has_published_report(submission.id):
        return submission, []
    return submission, [
        *await delete_submission(stored),
        delete_report(submission.id),
        *delete_external_scans(scans),
        *await release_held(submission.id),
    ]


async def prune_dead_letters() -> int:
    """Remove dead letters from before VSKILL_KEEP_DEAD_LETTERS."""
    before = _before(get_settings().keep_dead_letters)
    if before is None:
        return 0
    dropped = 0
    async for page in iterate_dead_letters():
        old = [Drop(letter.message_id) for letter in page if letter.buried_at < before]
        if old and await commit(old) is not None:
            dropped += len(old)
    return dropped


async def prune_audit() -> int:
    """Remove audit records from before VSKILL_KEEP_AUDIT."""
    before = _before(get_settings().keep_audit)
    removed = 0
    while before and (old := await delete_audit_before(before, limit=_PAGE)):
        await commit(old)
        removed += len(old)
    return removed


async def prune_yanked() -> int:
    """Delete versions that were yanked before VSKILL_KEEP_YANKED; their numbers stay taken."""
    settings = get_settings()
    before = _before(settings.keep_yanked)
    deleted = 0
    for slug, version in await list_yanked_long_ago(before) if before else []:
        try:
            await delete_skill(
                slug, version.version, actor=settings.node, reason="yanked long ago", is_admin=True
            )
            deleted += 1
        except (InvalidInput, NotFound) as error:  # it changed meanwhile
            log.warning("yanked version not pruned", slug=slug, error=str(error))
    return deleted


async def list_yanked_long_ago(before: datetime) -> list[tuple[str, SkillVersion]]:
    """Return the versions that were yanked before a time, but never the last version of a skill.

    A skill that was taken down is evidence and keeps all its versions.
    """
    found: list[tuple[str, SkillVersion]] = []
    async for slugs in iterate_slugs():
        for slug, skill in (await read_skills(slugs)).items():
            old = {mark.number for mark in skill.yanked if mark.at < before}
            if not old or skill.down:
                continue
            versions = await get_versions(slug)
            due = [version for version in versions if version.number in old]
            is_all = len(due) == len(versions)
            found += [(slug, version) for version in (due[:-1] if is_all else due)]
    return found


async def iterate_dead_letters() -> AsyncIterator[list[DeadLetter]]:
    after = 0
    while page := await get_queue().dead_letters(after=after, limit=_LETTERS):
        yield page
        after = page[-1].message_id


def _before(kept: timedelta) -> datetime | None:
    """Return the time before which records are removed; None if they are kept forever."""
    return get_now() - kept if kept else None
