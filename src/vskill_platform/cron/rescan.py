"""Rescanning published skills with the current rules and policy; operators decide what follows."""

from vskill_platform.cron.schedule import RESCAN, ask_for_run
from vskill_platform.publish.moderation.rescan_skills import (
    is_rescanned,
    list_due_skills,
    rescan_skills,
    write_wish,
)

#: How many are checked by one run; the next run goes on.
A_RUN = 1_000


async def rescan_published() -> str:
    """Check again what was never held to the rules and the policy of today, and only report."""
    if await is_rescanned():
        return "rules and policy are those of the last rescan"
    run = await rescan_skills(await list_due_skills(), limit=A_RUN)
    return run.in_words()


async def ask_for_rescan(*, actor: str) -> None:
    """Have the next run check everything again; one that is running must end first."""
    # In one commit with the job being due: else a run between the two would end the wish unmet.
    await ask_for_run(RESCAN, actor=actor, also=[write_wish(actor)])
