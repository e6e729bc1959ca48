"""Email on the pages: the account, a forgotten password, and the confirmation link."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.people import PASSWORD, a_user, csrf_in, let_in
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, open_registry, token_of
from vskill_platform.access.mail_addresses import confirm_address, make_address_link
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.mail_address_store import get_mail_address
from vskill_platform.stores.mail_store import Mail, list_mails

ADDRESS = "ada@example.org"


@pytest.fixture
async def mailing(env: WorkerEnv) -> AsyncIterator[WorkerEnv]:
    settings = msgspec.structs.replace(
        env.settings, smtp_url="smtps://mail.example", mail_from="skills@registry.example"
    )
    mailing = replace(env, settings=settings)
    token = worker_env_storage.set(mailing)
    yield mailing
    worker_env_storage.reset(token)


@pytest.fixture
async def visitor(mailing: WorkerEnv) -> AsyncIterator[AsyncClient]:
    transport = ASGITransport(cast("Any", an_app(mailing)))
    async with AsyncClient(
        transport=transport, base_url="http://registry", headers={"Accept": "text/html"}
    ) as client:
        yield client


@pytest.fixture
async def registry(mailing: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(mailing) as opened:
        yield opened


async def mails() -> list[Mail]:
    return (await list_mails(dead=False)).mails


async def is_confirmed(name: str) -> bool:
    stored = await get_mail_address(name)
    assert stored
    return stored.record.is_confirmed


async def test_a_user_sets_an_address_and_confirms_it(visitor: AsyncClient) -> None:
    ada = await a_user()
    await let_in(visitor, ada)
    token = csrf_in(await visitor.get("/account"))

    wrong = await visitor.post(
        "/account/mail", data={"csrf_token": token, "address": ADDRESS, "mail_password": "x"}
    )
    set_it = await visitor.post(
        "/account/mail", data={"csrf_token": token, "address": ADDRESS, "mail_password": PASSWORD}
    )
    link = await make_address_link("ada", ADDRESS)
    assert link
    parts = urlsplit(link)
    page = await visitor.get(f"{parts.path}?{parts.query}")
    seen_only = await is_confirmed("ada")
    done = await visitor.post(
        "/confirm-address", data={"csrf_token": csrf_in(page), "key": parts.query[len("key=") :]}
    )

    assert (wrong.status_code, set_it.status_code) == (400, 303)
    assert [(mail.kind, mail.to) for mail in await mails()] == [("confirm_address", ADDRESS)]
    assert not seen_only
    assert "is confirmed for the account" in done.text
    assert "confirmed</span>" in (await visitor.get("/account")).text


async def test_a_forgotten_password_gets_the_same_answer_for_everybody(
    visitor: AsyncClient,
) -> None:
    await a_user()
    page = await visitor.get("/forgot-password")

    answers = [
        await visitor.post("/forgot-password", data={"csrf_token": csrf_in(page), "name": name})
        for name in ("ada", "nobody")
    ]

    assert {answer.status_code for answer in answers} == {200}
    assert answers[0].text.count("If this account exists") == 1
    assert len({answer.text.partition("<h1>")[2] for answer in answers}) == 1
    assert "/forgot-password" in (await visitor.get("/sign-in")).text


async def test_nobody_is_flooded_with_reset_links(visitor: AsyncClient) -> None:
    token = csrf_in(await visitor.get("/forgot-password"))
    data = {"csrf_token": token, "name": "ada"}

    codes = [(await visitor.post("/forgot-password", data=data)).status_code for _ in range(6)]

    assert codes == [200] * 5 + [429]


async def test_without_mail_no_page_promises_one(browser: AsyncClient) -> None:
    page = await browser.get("/forgot-password")
    answer = await browser.post(
        "/forgot-password", data={"csrf_token": csrf_in(await browser.get("/sign-in")), "name": "a"}
    )

    assert "sends no email" in page.text
    assert answer.status_code == 404
    assert "/forgot-password" not in (await browser.get("/sign-in")).text


async def test_an_admin_invites_by_mail(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)

    page = await cyd.post("/admin/people/add", name="dee", role="reader", mail="dee@example.org")
    again = await cyd.act("/admin/people/dee/mail-link")
    bad = await cyd.act("/admin/people/dee/mail", mail="<script>")
    moved = await cyd.act("/admin/people/dee/mail", mail="d@example.org")
    people = await cyd.see("/admin/people")

    assert "will be emailed to dee@example.org" in page.text
    assert "/welcome?key=" not in page.text
    assert again == ("done", "A link was emailed to dee@example.org.")
    assert bad[0] == "problem"
    assert moved == ("done", "The email address of dee was set.")
    assert "d@example.org" in people
    assert sorted(mail.kind for mail in await mails()) == [
        "confirm_address",
        "invitation",
        "invitation",
    ]


async def test_the_api_invites_by_mail_and_changes_the_own_address(registry: Registry) -> None:
    admin = await token_of(Role.ADMIN, Scope.ADMIN)

    made = await registry.post(
        "/api/v1/users", json={"name": "dee", "mail": "dee@example.org"}, headers=admin
    )
    own = await registry.get("/api/v1/account/mail", headers=admin)
    changed = await registry.ask(
        "PATCH",
        "/api/v1/account/mail",
        json={"address": "cyd@example.org", "password": PASSWORD, "topics": ["reviews"]},
        headers=admin,
    )
    wrong = await registry.ask(
        "PATCH", "/api/v1/account/mail", json={"address": "x@example.org"}, headers=admin
    )

    assert made.json()["welcomeUrl"] == ""
    assert own.json() == {
        "address": None, "isConfirmed": False, "topics": [], "isMailOn": True,
    }  # fmt: skip
    assert changed.json()["topics"] == ["reviews"]
    assert wrong.status_code == 400
    link = await make_address_link("cyd", "cyd@example.org")
    assert link
    assert (await confirm_address(link.partition("key=")[2])).user == "cyd"
