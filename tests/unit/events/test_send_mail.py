"""Emails are sent after their commit, retried, and never lost silently."""

import asyncio
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.counters import counted
from tests.mail_server import Mailbox, a_mail_server
from vskill_platform.cron.schedule import JOBS, run_due_jobs
from vskill_platform.engines.operations import Put
from vskill_platform.errors import MailFailed, NotFound
from vskill_platform.events.send_mail import retry_mail, send_due_mails, send_test_mail
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.secret_settings import Secret
from vskill_platform.stores.db import commit
from vskill_platform.stores.mail_store import Mail, list_mails, new_mail, write_mail

ADA, BEN = "ada@example.org", "ben@example.org"


async def written(*mails: Mail) -> None:
    await commit([write_mail(mail) for mail in mails])


async def waiting() -> list[Mail]:
    return (await list_mails(dead=False)).mails


async def failed() -> list[Mail]:
    return (await list_mails(dead=True)).mails


async def test_a_mail_has_a_text_an_html_part_and_a_message_id_that_stays(
    mailing: WorkerEnv, mailbox: Mailbox
) -> None:
    mail = new_mail("test", ADA)
    await written(mail)

    before = counted("vskill_mails_total", outcome="sent")

    outcome = await send_due_mails()

    (sent,) = mailbox.mails
    text, html = mailbox.texts(0)
    assert outcome == "1 email sent"
    assert counted("vskill_mails_total", outcome="sent") == before + 1
    assert sent["Subject"] == "Test email of Skills"
    assert sent["From"] == "Skills <skills@registry.example>"
    assert (sent["To"], sent["Auto-Submitted"]) == (ADA, "auto-generated")
    assert sent["Message-ID"] == f"<{mail.id}@registry.example>"
    assert "https://skills.example" in text
    assert "<p>The email settings of Skills work" in html
    assert mailbox.envelopes[0].mail_from == "skills@registry.example"
    assert await waiting() == []
    assert await send_due_mails() == "0 emails sent"


async def test_text_of_strangers_adds_no_header_and_no_markup(
    mailing: WorkerEnv, mailbox: Mailbox
) -> None:
    evil = "<b>x</b>\r\nBcc: all@example.org\r\n\r\n\u202egone"
    await written(new_mail("address_changed", ADA, fields={"by": evil, "new": evil}))

    await send_due_mails()

    (sent,) = mailbox.mails
    text, html = mailbox.texts(0)
    assert sent["Bcc"] is None
    assert mailbox.envelopes[0].rcpt_tos == [ADA]
    assert "<b>x</b>" in text
    assert "<b>x</b>" not in html
    assert "\u202e" not in text + html


@pytest.mark.parametrize(
    "address", ["a@b\r\nRCPT TO:<c@d>", "a b@example.org", '"a"@example.org', "a@", "ä@example.org"]
)
async def test_an_address_that_is_none_never_reaches_the_server(
    mailing: WorkerEnv, mailbox: Mailbox, address: str
) -> None:
    await written(new_mail("test", address))

    outcome = await send_due_mails()

    assert outcome == "0 emails sent, 1 failed"
    assert "is not an email address" in (await failed())[0].problem
    assert mailbox.mails == []


async def test_a_mail_that_the_server_postpones_is_retried_and_others_are_sent(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    mailbox.answers_to_recipient[ADA] = "450 come back later"
    await written(new_mail("test", ADA), new_mail("test", BEN))

    first = await send_due_mails()
    mailbox.answers_to_recipient.clear()
    too_early = await send_due_mails()
    clock.advance(minutes=2)
    later = await send_due_mails()

    assert first == "1 email sent, 1 will be retried"
    assert too_early == "0 emails sent"
    assert later == "1 email sent"
    assert [mail["To"] for mail in mailbox.mails] == [BEN, ADA]


async def test_a_mail_that_the_server_refuses_is_a_dead_letter_and_can_be_retried(
    mailing: WorkerEnv, mailbox: Mailbox
) -> None:
    mailbox.answers_to_recipient[ADA] = "550 no such user"
    await written(new_mail("test", ADA))

    assert await send_due_mails() == "0 emails sent, 1 failed"
    (dead,) = await failed()
    mailbox.answers_to_recipient.clear()
    await retry_mail(dead.id)

    assert dead.problem == "the mail server answered 550 no such user"
    assert await send_due_mails() == "1 email sent"
    assert mailbox.mails[0]["Message-ID"] == f"<{dead.id}@registry.example>"
    with pytest.raises(NotFound):
        await retry_mail(dead.id)


async def test_a_server_that_is_down_fails_the_job_and_costs_every_mail_one_attempt(
    mailing: WorkerEnv, clock: ManualClock
) -> None:
    settings = msgspec.structs.replace(mailing.settings, smtp_url="smtp://127.0.0.1:1?tls=none")
    await written(new_mail("test", ADA), new_mail("test", BEN))

    with pytest.raises(MailFailed, match=r"no email can be sent through 127\.0\.0\.1:1"):
        await run_with_worker_env(replace(mailing, settings=settings), send_due_mails)

    assert [mail.attempts for mail in await waiting()] == [1, 1]
    clock.advance(minutes=2)
    assert await send_due_mails() == "2 emails sent"


async def test_after_two_days_a_mail_is_a_dead_letter(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    mailbox.answers_to_recipient[ADA] = "450 never"
    await written(new_mail("test", ADA))

    attempts = 0
    while await waiting():
        await send_due_mails()
        attempts += 1
        clock.advance(hours=15)

    assert attempts == 10
    assert [mail.attempts for mail in await failed()] == [10]


async def test_two_nodes_send_each_mail_once(mailing: WorkerEnv, mailbox: Mailbox) -> None:
    await written(*(new_mail("test", f"user{number}@example.org") for number in range(8)))

    await asyncio.gather(*(send_due_mails() for _ in range(4)))

    assert len(mailbox.mails) == 8
    assert len({mail["To"] for mail in mailbox.mails}) == 8


async def test_a_mail_of_a_killed_node_is_sent_again_with_the_same_message_id(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    mail = new_mail("test", ADA)
    # What a node leaves that is killed while it sends: an attempt was counted, its lease runs.
    clock.advance(minutes=5)
    await written(msgspec.structs.replace(mail, attempts=1, due_at=clock.now()))

    assert await send_due_mails() == "1 email sent"
    assert mailbox.mails[0]["Message-ID"] == f"<{mail.id}@registry.example>"


async def test_a_record_that_cannot_be_read_stops_no_other_mail(
    mailing: WorkerEnv, mailbox: Mailbox, logs: list[Any]
) -> None:
    await commit([Put("mail:broken", b"{}")])
    await written(new_mail("test", ADA))

    await send_due_mails()

    assert [mail["To"] for mail in mailbox.mails] == [ADA]
    assert "mail skipped, its record cannot be read" in {item["event"] for item in logs}


async def test_a_kind_of_a_newer_release_waits_for_that_release(
    mailing: WorkerEnv, mailbox: Mailbox
) -> None:
    await written(new_mail("of_tomorrow", ADA))

    assert await send_due_mails() == "0 emails sent, 1 will be retried"


async def test_the_job_runs_as_soon_as_a_mail_waits(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    jobs = [job for job in JOBS if job.name == "send-mail"]
    await run_due_jobs(mailing, jobs=jobs)
    clock.advance(seconds=5)
    idle = await run_due_jobs(mailing, jobs=jobs)
    await written(new_mail("test", ADA))

    (run,) = await run_due_jobs(mailing, jobs=jobs)

    assert idle == []
    assert run.outcome == "1 email sent"


async def test_without_a_server_nothing_is_sent_and_a_test_says_why(bound: WorkerEnv) -> None:
    await written(new_mail("test", ADA))

    assert await send_due_mails() == "email is off"
    with pytest.raises(MailFailed, match="set VSKILL_SMTP_URL"):
        await send_test_mail(ADA)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=mail.example",
         "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def trusted(certificate: Path) -> Iterator[ssl.SSLContext]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))
        yield server_context(certificate)


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


def encrypted(env: WorkerEnv, mailbox: Mailbox, password: str) -> WorkerEnv:
    settings = msgspec.structs.replace(
        env.settings,
        smtp_url=f"smtp://127.0.0.1:{mailbox.port}",
        smtp_user="skills",
        smtp_password=Secret(password),
    )
    return replace(env, settings=settings)


async def test_credentials_are_sent_only_after_starttls(
    mailing: WorkerEnv, trusted: ssl.SSLContext
) -> None:
    async with a_mail_server(tls=trusted, password="hush") as mailbox:
        env = encrypted(mailing, mailbox, "hush")

        answer = await run_with_worker_env(env, lambda: send_test_mail(ADA))

        assert answer == "accepted for delivery"
        assert [mail["To"] for mail in mailbox.mails] == [ADA]


async def test_a_wrong_password_is_named_and_not_shown(
    mailing: WorkerEnv, trusted: ssl.SSLContext
) -> None:
    async with a_mail_server(tls=trusted, password="hush") as mailbox:
        env = encrypted(mailing, mailbox, "wrong-one")

        with pytest.raises(MailFailed, match="refused VSKILL_SMTP_USER") as refused:
            await run_with_worker_env(env, lambda: send_test_mail(ADA))

        assert "wrong-one" not in str(refused.value)


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    mailing: WorkerEnv, certificate: Path
) -> None:
    async with a_mail_server(tls=server_context(certificate), password="hush") as mailbox:
        env = encrypted(mailing, mailbox, "hush")

        with pytest.raises(MailFailed, match="no email can be sent"):
            await run_with_worker_env(env, lambda: send_test_mail(ADA))

        assert mailbox.mails == []


async def test_a_server_without_starttls_gets_nothing(mailing: WorkerEnv, mailbox: Mailbox) -> None:
    env = encrypted(mailing, mailbox, "hush")

    with pytest.raises(MailFailed, match="no email can be sent"):
        await run_with_worker_env(env, lambda: send_test_mail(ADA))

    assert mailbox.mails == []
