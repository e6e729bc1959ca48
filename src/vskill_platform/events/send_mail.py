"""Send the emails that are due: each is tried for two days, then it is a dead letter.

An email may be sent twice if a node is killed at the wrong moment; its Message-ID stays the same.
"""

import random
from datetime import timedelta

import msgspec

from vskill_platform.base.metrics import count_mail
from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import MailFailed, MailRefused, NotFound, RecordMalformed
from vskill_platform.events.compose_mail import compose_mail
from vskill_platform.events.mail_links import make_links
from vskill_platform.events.smtp import MailConnection, connect
from vskill_platform.mail_settings import MailServer, mail_server
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.mail_store import (
    Mail,
    bury_mail,
    delete_mail,
    get_dead_mail,
    get_mail,
    list_due_mails,
    new_mail,
    requeue_mail,
    write_mail,
)
from vskill_platform.stores.records import Stored

log = get_logger(__name__)

#: Waits before the next attempt, 46 hours in total; after the last one, an email is a dead letter.
_WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 720, 720))
#: A random part of the wait is added, so that emails that failed together are not retried together.
_JITTER = 0.2
#: While a node sends an email, no other node does. Longer than a connection with a message takes.
_LEASE = timedelta(minutes=5)
#: How many emails one connection sends.
_AT_ONCE = 20


class MailCounts(msgspec.Struct):
    sent: int = 0
    failed: int = 0
    #: It is not tried again.
    dead: int = 0
    #: It is no longer wanted.
    dropped: int = 0


async def has_due_mails() -> bool:
    return mail_server(get_settings()) is not None and bool(await list_due_mails(limit=1))


async def send_due_mails() -> str:
    """Send the emails that are due; return how many were sent, or raise if the server fails."""
    server = mail_server(get_settings())
    if server is None:
        return "email is off"
    tally = MailCounts()
    while ids := await list_due_mails(limit=_AT_ONCE):
        claimed = [mail for mail_id in ids if (mail := await _claim(mail_id))]
        if not claimed:  # another node was faster
            break
        await _send_all(server, claimed, tally)
    more = ((tally.failed, "will be retried"), (tally.dead, "failed"), (tally.dropped, "dropped"))
    return ", ".join(
        [f"{count_of(tally.sent, 'email')} sent", *(f"{n} {words}" for n, words in more if n)]
    )


async def _claim(mail_id: str) -> Stored[Mail] | None:
    """Count an attempt and claim the email; return None if another node was faster."""
    try:
        stored = await get_mail(mail_id)
    except RecordMalformed as error:
        log.error("mail skipped, its record cannot be read", mail=mail_id, error=str(error))
        return None
    if stored is None or stored.record.due_at > get_now():
        return None
    claimed = msgspec.structs.replace(
        stored.record, attempts=stored.record.attempts + 1, due_at=get_now() + _LEASE
    )
    revision = await commit([write_mail(claimed, expected=stored.revision)])
    return Stored(claimed, revision) if revision is not None else None


async def _send_all(server: MailServer, mails: list[Stored[Mail]], tally: MailCounts) -> None:
    waiting = list(mails)
    try:
        async with connect(server) as connection:
            while waiting:
                await _send(server, connection, waiting[0], tally)
                del waiting[0]
    except MailFailed as error:
        for mail in waiting:
            await _retry_later(mail, str(error), tally)
        raise


async def _send(
    server: MailServer, connection: MailConnection, stored: Stored[Mail], tally: MailCounts
) -> None:
    mail = stored.record
    try:
        links = await make_links(mail)
        if links is None:
            tally.dropped += 1
            count_mail("dropped")
            log.info("mail dropped, it is no longer wanted", mail=mail.id, kind=mail.kind)
        else:
            message = compose_mail(mail, server, get_settings(), links=links)
            await connection.send(message, to=mail.to)
            tally.sent += 1
            count_mail("sent")
            log.info("mail sent", mail=mail.id, kind=mail.kind, user=mail.user)
    except MailRefused as error:
        next_step = _bury if error.is_final else _retry_later
        await next_step(stored, str(error), tally)
        return
    await commit([delete_mail(stored)])


async def _retry_later(stored: Stored[Mail], problem: str, tally: MailCounts) -> None:
    mail = stored.record
    if mail.attempts > len(_WAITS):
        await _bury(stored, problem, tally)
        return
    wait = _WAITS[mail.attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311 - not a secret
    later = msgspec.structs.replace(mail, due_at=get_now() + wait, problem=problem)
    await commit([write_mail(later, expected=stored.revision)])
    tally.failed += 1
    count_mail("retried")
    log.warning("mail not sent, it will be retried", mail=mail.id, kind=mail.kind,
                attempts=mail.attempts, error=problem)  # fmt: skip


async def _bury(stored: Stored[Mail], problem: str, tally: MailCounts) -> None:
    mail = msgspec.structs.replace(stored.record, problem=problem)
    await commit(bury_mail(mail, expected=stored.revision))
    tally.dead += 1
    count_mail("failed")
    log.error("mail failed (dead letter)", mail=mail.id, kind=mail.kind, error=problem)


async def retry_mail(mail_id: str) -> Mail:
    """Try a failed mail again."""
    stored = await get_dead_mail(mail_id)
    if stored is None or await commit(requeue_mail(stored)) is None:
        raise NotFound(f"there is no failed email {mail_id!r}")
    return stored.record


async def send_test_mail(address: str) -> str:
    """Send an email at once, without the outbox; return the server's answer."""
    server = mail_server(get_settings())
    if server is None:
        raise MailFailed("email is off: set VSKILL_SMTP_URL and VSKILL_MAIL_FROM")
    message = compose_mail(new_mail("test", address), server, get_settings(), links={})
    async with connect(server) as connection:
        return await connection.send(message, to=address)
