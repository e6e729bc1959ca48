"""Removing what has served its time: expired records, old traces, lost folders, held files."""

import asyncio
from datetime import timedelta

from vskill_platform.base.settle import settle
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.prune_records import (
    prune_audit,
    prune_dead_letters,
    prune_failed_submissions,
)
from vskill_platform.fetch.private_folder import sweep_workspaces
from vskill_platform.model.submission import TERMINAL_STATES
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.held_store import drop_held, get_held, list_held
from vskill_platform.stores.submission_store import get_submission

log = get_logger(__name__)

#: A reader of the change feed that was away for longer reads everything anew.
FEED_RETENTION = timedelta(days=7)
#: How long the files of what was not published can still be looked at.
HELD_FOR = timedelta(days=30)
_AT_ONCE = 64


async def prune() -> str:
    env = bound_env()
    removed = await env.engine.prune(deleted_before=env.clock.now() - FEED_RETENTION)
    swept = await asyncio.to_thread(sweep_workspaces)
    held = await _drop_held()
    letters = await prune_dead_letters()  # first: a submission that has one is kept
    failed = await prune_failed_submissions()
    audited = await prune_audit()
    return (
        f"{removed} records, {swept} abandoned folders, {held} held skills, {failed} failed "
        f"submissions, {letters} dead letters and {audited} audit records removed"
    )


async def _drop_held() -> int:
    """Let go of files that no person will decide about any more."""
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
