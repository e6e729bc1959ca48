"""Emails that wait or have failed, as a page and over the API, and test emails."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.mail_server import Mailbox, a_mail_server
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit
from vskill_platform.stores.mail_store import bury_mail, get_mail, new_mail, write_mail

pytestmark = pytest.mark.usefixtures("one_loop")
PAGE, API = "/admin/mail", "/api/v1/mail"


@pytest.fixture
async def mailbox() -> AsyncIterator[Mailbox]:
    async with a_mail_server() as server:
        yield server


@pytest.fixture
async def registry(bound: WorkerEnv, mailbox: Mailbox) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(
        bound.settings, smtp_url=mailbox.url, mail_from="skills@example.org"
    )
    async with open_registry(replace(bound, settings=settings)) as opened:
        yield opened


async def a_failed_mail() -> str:
    mail = new_mail("invitation", "ada@example.org", user="ada")
    await commit([write_mail(mail)])
    stored = await get_mail(mail.id)
    assert stored
    failed = msgspec.structs.replace(mail, attempts=8, problem="550 <b>no</b>")
    await commit(bury_mail(failed, expected=stored.revision))
    return mail.id


async def test_a_failed_email_is_listed_and_sent_again(registry: Registry) -> None:
    cyd = await token_of(Role.ADMIN)
    mail_id = await a_failed_mail()

    failed = await registry.json("/mail?status=failed", headers=cyd)
    again = await registry.post(f"{API}/{mail_id}/retry", headers=cyd)
    twice = await registry.post(f"{API}/{mail_id}/retry", headers=cyd)
    waiting = await registry.json("/mail", headers=cyd)

    (one,) = failed["mails"]
    assert (one["id"], one["kind"], one["to"]) == (mail_id, "invitation", "ada@example.org")
    assert "key" not in str(failed).lower()
    assert (again.status_code, twice.status_code) == (200, 404)
    assert [each["id"] for each in waiting["mails"]] == [mail_id]


async def test_a_test_email_is_sent_at_once(registry: Registry, mailbox: Mailbox) -> None:
    cyd = await token_of(Role.ADMIN)

    sent = await registry.post(f"{API}/test", json={"address": "you@example.org"}, headers=cyd)
    odd = await registry.post(f"{API}/test", json={"address": "a@b\nBcc: c@d"}, headers=cyd)
    mailbox.answers_to_recipient["no@example.org"] = "550 nobody here"
    refused = await registry.post(f"{API}/test", json={"address": "no@example.org"}, headers=cyd)

    assert sent.json()["isSent"] is True
    assert [mail["to"] for mail in mailbox.mails] == ["you@example.org"]
    assert odd.status_code == 400
    assert refused.json()["isSent"] is False
    assert "nobody here" in refused.json()["answer"]


async def test_admins_do_the_same_on_a_page(registry: Registry, mailbox: Mailbox) -> None:
    cyd = await browser_of(Role.ADMIN)
    mail_id = await a_failed_mail()

    page = await registry.get(PAGE, headers=cyd)
    sent = await registry.post(f"{PAGE}/test", data={"address": "you@example.org"}, headers=cyd)
    again = await registry.post(f"{PAGE}/retry", data={"id": mail_id}, headers=cyd)

    assert "550 &lt;b&gt;no&lt;/b&gt;" in page.text
    assert len(mailbox.mails) == 1
    assert "answered" in sent.headers["set-cookie"]
    assert "will be sent again" in again.headers["set-cookie"].replace("%20", " ")


async def test_addresses_are_for_admins_alone(registry: Registry) -> None:
    rae = await token_of(Role.REVIEWER)

    codes = [(await registry.get(path, headers=rae)).status_code for path in (PAGE, API)]

    assert codes == [403, 403]
