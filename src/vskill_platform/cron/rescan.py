"""Cron job: rescan published skills with the current rules and policy, and report changes."""

from vskill_platform.publish.moderation.current_policy import run_with_current_policy
from vskill_platform.publish.moderation.rescan_skills import (
    is_rescanned,
    list_due_skills,
    rescan_skills,
)

#: How many skills one run checks; the next run continues.
A_RUN = 1_000


async def rescan_published() -> str:
    """Check skills not yet checked with the current rules and policy; only report."""
    return await run_with_current_policy(_rescan)


async def _rescan() -> str:
    if await is_rescanned():
        return "rules and policy have not changed since the last rescan"
    run = await rescan_skills(await list_due_skills(), limit=A_RUN)
    return run.in_words()
