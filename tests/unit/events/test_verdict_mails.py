"""Emails about verdicts to submitters, and about overdue reviews to reviewers."""

import pytest

from tests.clocks import ManualClock
from tests.mail_server import Mailbox
from tests.people import a_user
from tests.unit.events.happenings import moved, published, submitted
from vskill_platform.access.mail_addresses import (
    MailTopic,
    choose_topics,
    confirm_address,
    make_address_link,
    set_mail_address,
)
from vskill_platform.access.namespaces import add_owner
from vskill_platform.cron.remind_reviews import remind_reviews
from vskill_platform.events.deliver import send_events
from vskill_platform.events.send_mail import send_due_mails
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.mail_store import list_mails

_S = SubmissionState


async def reachable(role: Role = Role.PUBLISHER, name: str = "") -> str:
    """Add a user with a confirmed email address; return the address."""
    user = await a_user(role, name)
    address = f"{user.name}@example.org"
    await set_mail_address(user.name, address, actor=user.name)
    link = await make_address_link(user.name, address)
    assert link
    await confirm_address(link.partition("key=")[2])
    return address


async def mailed(mailbox: Mailbox, clock: ManualClock) -> list[str]:
    """Send everything, also what waits for more to come; return the subjects."""
    await send_events()
    clock.advance(minutes=1)
    await send_due_mails()
    return [mail["Subject"] for mail in mailbox.mails]


@pytest.mark.parametrize(
    ("states", "subject"),
    [
        ((_S.AUTO_APPROVED, _S.PUBLISHED), "tidy-notes: published"),
        ((_S.TIER1_FAILED,), "tidy-notes: rejected"),
        ((_S.NEEDS_REVIEW,), "tidy-notes: needs review"),
        ((_S.BLOCKED,), "tidy-notes: blocked"),
        ((_S.DEQUEUED,), "tidy-notes: withdrawn"),
    ],
)
async def test_a_submitter_is_emailed_the_verdict(
    mailing: WorkerEnv,
    mailbox: Mailbox,
    clock: ManualClock,
    states: tuple[SubmissionState, ...],
    subject: str,
) -> None:
    address = await reachable()
    found = await moved(await submitted(), _S.TIER1_SCANNING, *states, reason="<b>two</b> findings")

    subjects = await mailed(mailbox, clock)

    text, html = mailbox.texts(0)
    assert subjects == [subject]
    assert mailbox.mails[0]["To"] == address
    assert f"https://skills.example/submissions/{found.record.id}" in text
    assert "&lt;b&gt;two&lt;/b&gt; findings" in html


async def test_users_are_not_emailed_about_their_own_withdrawal(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    await reachable()
    await moved(await submitted(), _S.DEQUEUED, by="ada")

    assert await mailed(mailbox, clock) == []


async def test_the_verdicts_of_a_minute_are_in_one_mail(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    await reachable()
    for _ in range(3):
        await published()
        await send_events()

    subjects = await mailed(mailbox, clock)

    assert subjects == ["results of 3 submissions"]
    assert mailbox.texts(0)[0].count("tidy-notes: published") == 3


async def test_who_wants_no_verdicts_or_has_no_confirmed_address_gets_none(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    await reachable()
    await choose_topics("ada", {MailTopic.REVIEWS})
    await a_user(Role.READER)
    await set_mail_address("ben", "ben@example.org", actor="ben")
    await published()
    await published(submitter="ben")
    await published(submitter="anonymous")

    subjects = await mailed(mailbox, clock)

    assert subjects == ["Confirm your email address"]


async def test_a_private_skill_is_mailed_only_to_those_who_may_see_it(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    await reachable()
    await reachable(Role.READER)
    await add_owner("ada", "ada", actor="cyd")
    await published(is_private=True)
    await published(is_private=True, submitter="ben")

    await mailed(mailbox, clock)

    assert [mail["To"] for mail in mailbox.mails] == ["ada@example.org"]


async def test_reviewers_are_reminded_once_a_day_while_something_waits(
    mailing: WorkerEnv, mailbox: Mailbox, clock: ManualClock
) -> None:
    await reachable(Role.REVIEWER)
    await reachable(Role.ADMIN)
    await reachable(Role.PUBLISHER)
    await choose_topics("cyd", {MailTopic.VERDICTS})
    nothing = await remind_reviews()
    await moved(await submitted(submitter="ben"), _S.TIER1_SCANNING, _S.NEEDS_REVIEW)
    clock.advance(days=1)

    first, second = await remind_reviews(), await remind_reviews()
    await send_due_mails()

    assert nothing == "no review is overdue"
    assert first == "reminded of 1, 1 by email"
    assert second == "1 waiting, a reminder was sent today"
    assert [(mail["To"], mail["Subject"]) for mail in mailbox.mails] == [
        ("rae@example.org", "1 submission waits for review")
    ]
    assert (await list_mails(dead=False)).mails == []
