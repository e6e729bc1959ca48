"""Somebody wants everything published checked again, though rules and policy may be the same."""

from vskill_platform.cron.schedule import RESCAN, ask_for_run
from vskill_platform.publish.moderation.rescan_skills import write_wish


async def ask_for_rescan(*, actor: str) -> None:
    """Have the next run check everything again; one that is running must end first."""
    # In one commit with the job being due: else a run between the two would end the wish unmet.
    await ask_for_run(RESCAN, actor=actor, also=[write_wish(actor)])
