"""Bringing to mind what waits for a person: once a day, in the log and by a program."""

from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.notify import notify
from vskill_platform.publish.moderation.list_reviews import Review, list_reviews
from vskill_platform.settings import format_duration
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.reminder_store import get_reminder, put_reminder

log = get_logger(__name__)

_TOPIC = "reviews"
#: More are counted, not named.
_MAX_NAMED = 20


async def remind_reviews() -> str:
    """Remind of what has waited for too long, if today nobody was; return what was done.

    The day counts only once somebody was told, so a program that fails is tried again.
    """
    patience, today = get_settings().review_reminder, get_now().date()
    late = [review for review in await list_reviews() if review.waits_for >= patience]
    if not late:
        return "nobody waits for too long"
    last = await get_reminder(_TOPIC)
    if last and last.record.day == today:
        return f"{len(late)} wait, somebody was reminded today"
    oldest = late[0]
    log.warning("reviews wait for a person", count=len(late), oldest=oldest.id,
                waits=format_duration(oldest.waits_for))  # fmt: skip
    is_told = await notify(_message(late))
    await put_reminder(_TOPIC, today, expected=last.revision if last else None)
    return f"reminded of {len(late)}, {'by the program' if is_told else 'in the log only'}"


def _message(late: list[Review]) -> dict[str, object]:
    return {
        "event": "reviews_waiting",
        "count": len(late),
        "oldest_since": late[0].since,
        "reviews": [
            {
                "id": review.id,
                "skill": review.skill,
                "source": review.source,
                "submitter": review.submitter,
                "since": review.since,
                "why": review.decided,
            }
            for review in late[:_MAX_NAMED]
        ],
    }
