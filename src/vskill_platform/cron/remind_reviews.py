"""Cron job: a daily reminder of overdue reviews, in the log, by email and through a program."""

import asyncio
import os
from asyncio.subprocess import PIPE
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from vskill_platform.access.mail_addresses import MailTopic
from vskill_platform.access.one_time_links import is_mail_on
from vskill_platform.base.program import CannotStart, ProgramLimits, Streams, running_program
from vskill_platform.base.show_text import show
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotifyFailed
from vskill_platform.model.rights import RIGHTS, Right
from vskill_platform.publish.moderation.list_reviews import Review, list_reviews
from vskill_platform.setting_values import format_duration
from vskill_platform.settings import notify_arguments
from vskill_platform.stores.cron_store import get_reminder, put_reminder
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.mail_address_store import get_mail_addresses
from vskill_platform.stores.mail_store import new_mail, write_mail
from vskill_platform.stores.user_store import list_users

log = get_logger(__name__)

_TOPIC = "reviews"
#: More are counted, not listed.
_MAX_NAMED = 20


async def remind_reviews() -> str:
    """Send reminders of overdue reviews once a day; return what was done.

    The day counts as done only after a successful notification, so a failed program is retried.
    """
    patience, today = get_settings().review_reminder, get_now().date()
    late = [review for review in await list_reviews() if review.waits_for >= patience]
    if not late:
        return "no review is overdue"
    last = await get_reminder(_TOPIC)
    if last and last.record.day == today:
        return f"{len(late)} waiting, a reminder was sent today"
    oldest = late[0]
    log.warning("reviews overdue", count=len(late), oldest=oldest.id,
                waits=format_duration(oldest.waits_for))  # fmt: skip
    is_told = await notify(_message(late))
    mails = await _mails(late)
    # Includes the day, so that no one is reminded twice.
    await put_reminder(_TOPIC, today, expected=last.revision if last else None, also=mails)
    ways = [
        *(["by the program"] if is_told else []),
        *([f"{len(mails)} by email"] if mails else []),
    ]
    return f"reminded of {len(late)}, {' and '.join(ways) or 'in the log only'}"


async def _mails(late: list[Review]) -> list[Operation]:
    """Return an email for each reviewer with a confirmed address who wants to be reminded."""
    if not is_mail_on():
        return []
    reviewers = [
        user.name
        for user in await list_users()
        if not user.is_disabled and Right.REVIEW in RIGHTS[user.role]
    ]
    addresses = await get_mail_addresses(reviewers)
    shown = [f"{show(one.skill)} ({show(one.submitter)}): {one.decided}" for one in late]
    left_out = max(len(late) - _MAX_NAMED, 0)
    fields = {
        "count": str(len(late)),
        "lines": "\n".join(show(line, limit=300) for line in shown[:_MAX_NAMED]),
        "left_out": str(left_out),
    }
    return [
        write_mail(new_mail("reviews_waiting", one.address, user=one.user, fields=fields))
        for one in addresses.values()
        if one.is_confirmed and MailTopic.REVIEWS.value not in one.muted
    ]


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


#: Timeout of the notification program.
NOTIFY_DEADLINE = timedelta(seconds=30)
_MAX_COMPLAINT = 300


async def notify(message: Any) -> bool:
    """Pass *message* as JSON to the program's standard input; False if none is set.

    It gets the operator's PATH and HOME, but none of our settings or secrets.
    """
    arguments = notify_arguments(get_settings())
    if not arguments:
        return False
    environment = {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "HOME": str(Path.home()),
        "LC_ALL": "C.UTF-8",
    }
    try:
        async with (
            running_program(
                arguments,
                env=environment,
                streams=Streams(stdin=PIPE, stderr=PIPE),
                limits=ProgramLimits(),
            ) as process,
            asyncio.timeout(NOTIFY_DEADLINE.total_seconds()),
        ):
            _, complaint = await process.communicate(msgspec.json.encode(message) + b"\n")
    except CannotStart as error:
        raise NotifyFailed(f"{arguments[0]} cannot be run: {error.strerror}") from error
    except TimeoutError as error:
        within = format_duration(NOTIFY_DEADLINE)
        raise NotifyFailed(f"{arguments[0]} did not finish within {within}") from error
    if process.returncode:
        words = complaint.decode(errors="replace").strip()[-_MAX_COMPLAINT:]
        raise NotifyFailed(f"{arguments[0]} exited with {process.returncode}: {words}")
    return True
