"""Rescanning published skills with the current rules and policy; operators decide what follows."""

from vskill_platform.publish.moderation.rescan_skills import (
    is_rescanned,
    list_due_skills,
    rescan_skills,
)

#: How many are checked by one run; the next run goes on.
A_RUN = 1_000


async def rescan_published() -> str:
    """Check again what was never held to the rules and the policy of today, and only report."""
    if await is_rescanned():
        return "rules and policy have not changed since the last rescan"
    run = await rescan_skills(await list_due_skills(), limit=A_RUN)
    return run.in_words()
