"""Cron job: queue rescans of published skills that were not checked with the current rules."""

from vskill_platform.base.show_text import count_of
from vskill_platform.cron.send_background import send_background, waits_for_nodes
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.publish.rescans.rescan_skills import (
    is_rescanned,
    list_due_skills,
    note_all_rescanned,
    rescan_subject,
)
from vskill_platform.stores.background_store import RescanMessage, get_failures
from vskill_platform.stores.rescan_store import get_rescan_request, list_one_rescan_requests


async def send_rescans() -> str:
    """Queue a rescan for each skill that needs one; workers do it and only report the result."""
    return await run_with_current_policy(_send_rescans)


async def _send_rescans() -> str:
    if await is_rescanned():
        return "rules and policy have not changed since the last rescan"
    if waiting := await waits_for_nodes():
        return waiting
    asked = await get_rescan_request()
    requested, failures = await list_one_rescan_requests(), await get_failures(RescanMessage)
    due = await list_due_skills()
    left = []
    for skill in due:
        failure = failures.get(skill.slug)
        is_failed = failure is not None and failure.about == rescan_subject(skill, asked)
        if skill.slug in requested or not is_failed:
            left.append(RescanMessage(skill.slug))
    if left:
        return await send_background(left)
    await note_all_rescanned(asked)
    failed = f"; {count_of(len(due), 'rescan')} failed, see the dead letters" if due else ""
    return f"all skills were rescanned{failed}"
