"""Emails that wait to be sent, stored in the commit of their cause, and emails that failed."""

import secrets
from datetime import datetime, timedelta

import msgspec

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import get_kv, get_now, get_settings
from vskill_platform.stores.records import (
    MAX_COUNTED,
    Backlog,
    Stored,
    decode,
    encode,
    get_record,
    moment_in_id,
    read_each,
)

_WAITING = "mail:"
_DEAD = "mail-dead:"
_TOPIC = "mail-topic "


class Mail(Record, frozen=True, kw_only=True):
    """The template, values and receiver of an email; its text is made when it is sent."""

    #: Sorts by time; the Message-ID contains it, so that duplicates can be recognised.
    id: str
    #: The name of the template.
    kind: str
    to: str
    #: The user that it is for; empty for an address without an account.
    user: str = ""
    #: Values for the template. Never a secret: links are created when the mail is sent.
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    created_at: datetime
    attempts: int = 0
    #: When it is tried next; while a node sends it, when that node is considered dead.
    due_at: datetime
    #: Why the last attempt failed.
    problem: str = ""
    dead_at: datetime | None = None
    #: Identifies an email that has not been sent yet, so that more can be added to it.
    topic: str = ""


class MailPage(msgspec.Struct, frozen=True):
    mails: list[Mail]
    cursor: str | None


def new_mail(
    kind: str, to: str, *, user: str = "", fields: dict[str, str] | None = None, topic: str = ""
) -> Mail:
    now = get_now()
    mail_id = f"{int(now.timestamp() * 1_000_000):014x}{secrets.token_hex(8)}"
    return Mail(
        id=mail_id,
        kind=kind,
        to=to,
        user=user,
        fields=fields or {},
        created_at=now,
        due_at=now,
        topic=topic,
    )


def write_mail(mail: Mail, *, expected: int = ABSENT) -> Operation:
    """Return the operation that stores an email until it is sent, for the commit of its cause."""
    is_untried = mail.topic and not mail.attempts
    marks = (_TOPIC + mail.topic,) if is_untried else ()
    return Put(_WAITING + mail.id, encode(mail), expected=expected, due=mail.due_at, marks=marks)


def delete_mail(stored: Stored[Mail]) -> Operation:
    return Delete(_WAITING + stored.record.id, expected=stored.revision)


def bury_mail(mail: Mail, *, expected: int) -> list[Operation]:
    """Return the operations that keep an email as failed, without automatic retries."""
    kept = get_settings().keep_dead_letters
    dead = msgspec.structs.replace(mail, dead_at=get_now())
    return [
        Delete(_WAITING + mail.id, expected=expected),
        Put(
            _DEAD + mail.id,
            encode(dead),
            expected=ABSENT,
            due=NEVER,
            expires_at=get_now() + kept if kept > timedelta(0) else None,
        ),
    ]


def requeue_mail(stored: Stored[Mail]) -> list[Operation]:
    """Return the operations that queue a failed email again, with all attempts."""
    again = msgspec.structs.replace(
        stored.record, attempts=0, due_at=get_now(), dead_at=None, problem=""
    )
    return [Delete(_DEAD + again.id, expected=stored.revision), write_mail(again)]


async def get_mail(mail_id: str) -> Stored[Mail] | None:
    return await get_record(_WAITING + mail_id, Mail)


async def find_unsent_mail(topic: str) -> Stored[Mail] | None:
    """Return an email on this topic that no node has tried to send yet."""
    (keys,) = await get_kv().find_marked([_TOPIC + topic], limit=1)
    stored = await get_record(keys[0], Mail) if keys else None
    return stored if stored and not stored.record.attempts else None


async def get_dead_mail(mail_id: str) -> Stored[Mail] | None:
    return await get_record(_DEAD + mail_id, Mail)


async def list_due_mails(*, limit: int) -> list[str]:
    """Return the ids of emails that are due, most overdue first."""
    page = await get_kv().list_keys(_WAITING, due_before=get_now(), limit=limit)
    return [key.removeprefix(_WAITING) for key in page.keys]


async def measure_mails() -> Backlog:
    """Count waiting and failed emails, up to MAX_COUNTED; also return the age of the oldest."""
    waiting = (await get_kv().list_keys(_WAITING, limit=MAX_COUNTED)).keys
    failed = (await get_kv().list_keys(_DEAD, limit=MAX_COUNTED)).keys
    oldest = moment_in_id(waiting[0].removeprefix(_WAITING)) if waiting else None
    return Backlog(waiting=len(waiting), failed=len(failed), oldest=oldest)


async def list_mails(*, dead: bool, after: str | None = None, limit: int = 100) -> MailPage:
    """Return a page of waiting or failed emails, newest first."""
    prefix = _DEAD if dead else _WAITING
    page = await get_kv().list_keys(prefix, after=after, limit=limit, newest_first=True)
    return MailPage(
        await read_each(page.keys, lambda key, value: decode(key, value, Mail)), page.cursor
    )
