"""Email addresses: set, confirmed, changed, and used for links that set a password."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.mail_server import Mailbox, a_mail_server
from tests.people import PASSWORD, a_user
from vskill_platform.access.mail_addresses import (
    MailTopic,
    change_own_address,
    choose_topics,
    confirm_address,
    invite_by_mail,
    remove_own_address,
    request_reset_link,
    set_mail_address,
)
from vskill_platform.access.one_time_links import use_one_time_link
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.users import disable_user, find_user
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.events.send_mail import send_due_mails
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.mail_address_store import MailAddress, get_mail_address
from vskill_platform.stores.mail_store import list_mails
from vskill_platform.stores.one_time_link_store import list_one_time_links

ADDRESS = "ada@example.org"
_KEY = re.compile(r"key=(\S+)")


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with a_mail_server() as mailbox:
        yield mailbox


@pytest.fixture(autouse=True)
async def mailing(env: WorkerEnv, mailbox: Mailbox) -> AsyncIterator[WorkerEnv]:
    settings = msgspec.structs.replace(
        env.settings, smtp_url=mailbox.url, mail_from="skills@registry.example"
    )
    mailing = replace(env, settings=settings)
    token = worker_env_storage.set(mailing)
    yield mailing
    worker_env_storage.reset(token)


async def address_of(name: str) -> MailAddress:
    stored = await get_mail_address(name)
    assert stored
    return stored.record


async def mailed_key(mailbox: Mailbox, to: str = ADDRESS) -> str:
    """Send what waits and return the key of the link in the mail to this address."""
    await send_due_mails()
    (number,) = (at for at, mail in enumerate(mailbox.mails) if mail["To"] == to)
    found = _KEY.search(mailbox.texts(number)[0])
    assert found
    return found.group(1)


async def a_confirmed_address(mailbox: Mailbox, name: str, address: str = ADDRESS) -> None:
    await set_mail_address(name, address, actor=name)
    await confirm_address(await mailed_key(mailbox, address))
    mailbox.mails.clear()


async def test_an_address_is_confirmed_by_the_link_that_is_mailed_to_it(mailbox: Mailbox) -> None:
    await a_user()
    await set_mail_address("ada", f" {ADDRESS} ", actor="cyd")
    before = await address_of("ada")

    key = await mailed_key(mailbox)
    await confirm_address(key)

    assert (before.address, before.is_confirmed) == (ADDRESS, False)
    assert (await address_of("ada")).is_confirmed
    assert mailbox.mails[0]["To"] == ADDRESS
    with pytest.raises(NotFound, match="already used"):
        await confirm_address(key)


async def test_a_link_confirms_no_other_address_than_its_own(mailbox: Mailbox) -> None:
    await a_user()
    await set_mail_address("ada", ADDRESS, actor="ada")
    key = await mailed_key(mailbox)
    await set_mail_address("ada", "victim@example.org", actor="ada")

    with pytest.raises(NotFound):
        await confirm_address(key)

    assert not (await address_of("ada")).is_confirmed


async def test_a_link_to_confirm_expires(mailbox: Mailbox, clock: ManualClock) -> None:
    await a_user()
    await set_mail_address("ada", ADDRESS, actor="ada")
    key = await mailed_key(mailbox)
    clock.advance(hours=24)

    with pytest.raises(NotFound):
        await confirm_address(key)


async def test_no_secret_of_a_link_waits_in_the_database(mailbox: Mailbox) -> None:
    await invite_by_mail("dee", Role.READER, "dee@example.org", actor="cyd")
    waiting = (await list_mails(dead=False)).mails

    links_before = await list_one_time_links()
    key = await mailed_key(mailbox, "dee@example.org")

    assert links_before == []
    assert key not in repr(waiting)
    assert [link.mailed_to for link in await list_one_time_links()] == ["dee@example.org"]


async def test_an_invitation_by_mail_sets_the_password_and_confirms_the_address(
    mailbox: Mailbox,
) -> None:
    await invite_by_mail("dee", Role.PUBLISHER, "dee@example.org", actor="cyd")
    key = await mailed_key(mailbox, "dee@example.org")

    await use_one_time_link(key, name="dee", password=PASSWORD)

    assert mailbox.mails[0]["Subject"] == "Your invitation to vskill-platform"
    assert (await sign_in("dee", PASSWORD)).user.role is Role.PUBLISHER
    assert (await address_of("dee")).is_confirmed


async def test_the_audit_log_names_no_address(mailbox: Mailbox) -> None:
    await invite_by_mail("dee", Role.PUBLISHER, "dee@example.org", actor="cyd")
    key = await mailed_key(mailbox, "dee@example.org")
    await use_one_time_link(key, name="", password=PASSWORD)
    await request_reset_link("dee")
    await change_own_address(await find_user("dee"), ADDRESS, password=PASSWORD)

    records = (await list_audit()).records

    assert {"user invite", "user set-mail"} <= {record.action for record in records}
    assert not any("@" in record.outcome + record.reason for record in records)


async def test_an_invitation_adds_neither_user_nor_mail_if_something_is_wrong() -> None:
    await a_user()

    for name, address in (("ada", ADDRESS), ("dee", "not an address")):
        with pytest.raises(InvalidInput):
            await invite_by_mail(name, Role.READER, address, actor="cyd")

    assert (await list_mails(dead=False)).mails == []
    with pytest.raises(NotFound):
        await find_user("dee")


@pytest.mark.parametrize("typed", ["ada", " ADA ", ADDRESS, ADDRESS.upper()])
async def test_a_forgotten_password_is_reset_by_mail(mailbox: Mailbox, typed: str) -> None:
    await a_user()
    await a_confirmed_address(mailbox, "ada")

    await request_reset_link(typed)
    await use_one_time_link(await mailed_key(mailbox), name="", password="another long password")

    assert mailbox.mails[0]["Subject"] == "Reset your password"
    assert (await sign_in("ada", "another long password")).user.name == "ada"


async def test_no_reset_is_mailed_to_an_address_that_is_not_confirmed(mailbox: Mailbox) -> None:
    await a_user()
    await a_user(Role.READER)
    await set_mail_address("ada", ADDRESS, actor="ada")
    await a_confirmed_address(mailbox, "ben", "ben@example.org")
    await disable_user("ben", actor="cyd")

    for typed in ("ada", ADDRESS, "ben", "nobody", "nobody@example.org", ""):
        await request_reset_link(typed)
    await send_due_mails()

    assert mailbox.mails == []


async def test_a_disabled_user_gets_no_mail_that_was_still_waiting(mailbox: Mailbox) -> None:
    await invite_by_mail("dee", Role.READER, "dee@example.org", actor="cyd")
    await disable_user("dee", actor="cyd")

    assert await send_due_mails() == "0 emails sent, 1 dropped"
    assert await list_one_time_links() == []


async def test_a_link_is_not_sent_to_an_address_that_is_no_longer_the_users(
    mailbox: Mailbox,
) -> None:
    await invite_by_mail("dee", Role.READER, "wrong@example.org", actor="cyd")
    await set_mail_address("dee", "dee@example.org", actor="cyd")

    await send_due_mails()

    assert [mail["To"] for mail in mailbox.mails] == ["dee@example.org"]


async def test_the_old_address_is_notified_of_a_change(mailbox: Mailbox) -> None:
    ada = await a_user()
    await a_confirmed_address(mailbox, "ada")

    await change_own_address(ada, "new@example.org", password=PASSWORD)
    await send_due_mails()

    told = next(n for n, mail in enumerate(mailbox.mails) if mail["To"] == ADDRESS)
    assert "to new@example.org" in mailbox.texts(told)[0]
    assert not (await address_of("ada")).is_confirmed


async def test_a_stolen_session_cannot_change_the_address() -> None:
    ada = await a_user()

    with pytest.raises(InvalidInput, match="current password is wrong"):
        await change_own_address(ada, ADDRESS, password="guess")
    with pytest.raises(InvalidInput, match="current password is wrong"):
        await remove_own_address(ada, password="guess")

    assert await get_mail_address("ada") is None


async def test_topics_stay_chosen_when_the_address_changes(mailbox: Mailbox) -> None:
    ada = await a_user()
    await a_confirmed_address(mailbox, "ada")

    await choose_topics("ada", {MailTopic.VERDICTS})
    await change_own_address(ada, "new@example.org", password=PASSWORD)

    assert (await address_of("ada")).muted == ("reviews",)


async def test_topics_need_an_address() -> None:
    await a_user()

    with pytest.raises(InvalidInput, match="set an email address first"):
        await choose_topics("ada", set())


async def test_a_reset_reaches_its_user_however_many_others_typed_the_address(
    mailbox: Mailbox,
) -> None:
    for number in range(25):  # more than are looked up, and all before "victor"
        name = f"eve-{number:02}"
        await a_user(Role.READER, name)
        await set_mail_address(name, ADDRESS, actor=name)
    await send_due_mails()
    mailbox.mails.clear()
    await a_user(Role.READER, "victor")
    await a_confirmed_address(mailbox, "victor")

    await request_reset_link(ADDRESS)
    await use_one_time_link(await mailed_key(mailbox), name="", password="another long password")

    assert (await sign_in("victor", "another long password")).user.name == "victor"
