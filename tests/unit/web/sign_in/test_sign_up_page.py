"""Sign-up with an email address of an allowed domain."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user, csrf_in
from tests.unit.web.conftest import HTML
from vskill_platform.access.mail_addresses import set_mail_address
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.sign_up import sign_up
from vskill_platform.access.users import find_user
from vskill_platform.errors import ConfigError
from vskill_platform.events.mail_links import make_links
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.settings import load_settings
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.mail_address_store import (
    MailAddress,
    get_mail_address,
    write_mail_address,
)
from vskill_platform.stores.mail_store import Mail, list_mails
from vskill_platform.stores.user_store import list_users

ADDRESS = "Ada@acme.example"
CONFIRM = "/sign-up/confirm"


@pytest.fixture
async def visitor(bound: WorkerEnv) -> AsyncIterator[AsyncClient]:
    settings = msgspec.structs.replace(
        bound.settings,
        public_url="http://registry",
        smtp_url="smtps://mail.example",
        mail_from="skills@registry.example",
        sign_up_domains="acme.example",
        sign_ins_per_minute=100,
    )
    env = replace(bound, settings=settings)
    token = worker_env_storage.set(env)
    transport = ASGITransport(cast("Any", an_app(env)))
    async with AsyncClient(transport=transport, base_url="http://registry", headers=HTML) as client:
        yield client
    worker_env_storage.reset(token)


async def ask(visitor: AsyncClient, address: str = ADDRESS) -> Response:
    form = {"csrf_token": csrf_in(await visitor.get("/sign-up")), "address": address}
    return await visitor.post("/sign-up", data=form)


async def mails() -> list[Mail]:
    return [one for one in (await list_mails(dead=False)).mails if one.kind == "sign_up"]


async def link_in(mail: Mail) -> str:
    made = await make_links(mail)
    assert made
    return made["link"]


async def create(visitor: AsyncClient, link: str, name: str = "ada") -> Response:
    page = await visitor.get(link)
    if page.status_code != 200:
        return page
    form = {"csrf_token": csrf_in(page), "key": link.partition("key=")[2], "name": name}
    return await visitor.post(
        CONFIRM, data={**form, "password": PASSWORD, "password_again": PASSWORD}
    )


async def test_somebody_of_an_allowed_domain_creates_an_account(visitor: AsyncClient) -> None:
    asked = await ask(visitor)
    before = await list_users()
    (mail,) = await mails()

    done = await create(visitor, await link_in(mail))

    assert ("a link was sent" in asked.text, before, mail.to) == (True, [], ADDRESS)
    assert (done.status_code, done.headers["location"]) == (303, "/account?done=welcome")
    assert (await find_user("ada")).role is Role.READER
    address = await get_mail_address("ada")
    assert address
    assert (address.record.address, address.record.is_confirmed) == (ADDRESS, True)


async def test_other_domains_get_no_mail(visitor: AsyncClient) -> None:
    addresses = (
        "ada@evil.example", "ada@sub.acme.example", "ada@acme.example.evil.example",
        "acme.example", "a@evil.example,b@acme.example", "ada@evil.example\nada@acme.example", "",
    )  # fmt: skip

    answers = [(await ask(visitor, address)).status_code for address in addresses]

    assert answers == [400] * len(addresses)
    assert await mails() == []


async def test_an_address_with_an_account_gets_the_same_answer_and_no_mail(
    visitor: AsyncClient,
) -> None:
    await a_user(Role.PUBLISHER, "ada")
    confirmed = MailAddress(
        user="ada", address=ADDRESS.lower(), is_confirmed=True, changed_at=get_now()
    )
    await commit([write_mail_address(confirmed, expected=0)])

    answer = await ask(visitor)

    assert "a link was sent" in answer.text
    assert await mails() == []


async def test_a_link_works_once_and_for_a_day(visitor: AsyncClient, clock: ManualClock) -> None:
    await ask(visitor)
    await ask(visitor, "ben@acme.example")
    first, second = await mails()
    links = [await link_in(first), await link_in(first), await link_in(second)]

    used = [(await create(visitor, link, "ada")).status_code for link in (links[0], links[0])]
    other = (await create(visitor, links[1], "eve")).status_code
    clock.advance(hours=25)
    late = (await create(visitor, links[2], "ben")).status_code

    assert (used, other, late) == ([303, 404], 404, 404)
    assert [user.name for user in await list_users()] == ["ada"]


async def test_a_name_that_is_in_use_cannot_be_chosen(visitor: AsyncClient) -> None:
    await a_user(Role.PUBLISHER, "cyd")
    await add_owner("@team", "cyd", actor="test")
    await ask(visitor)
    link = await link_in((await mails())[0])

    answers = [(await create(visitor, link, name)).status_code for name in ("cyd", "team", "a b")]

    assert answers == [400, 400, 400]
    assert (await create(visitor, link, "ada")).status_code == 303


async def test_mails_to_one_address_are_limited(visitor: AsyncClient) -> None:
    answers = [(await ask(visitor)).status_code for _ in range(6)]

    assert answers == [200] * 5 + [429]


async def test_it_is_off_by_default(browser: AsyncClient) -> None:
    pages = [await browser.get(path) for path in ("/sign-up", f"{CONFIRM}?key=x")]

    assert [page.status_code for page in pages] == [404, 404]
    assert "/sign-up" not in (await browser.get("/sign-in")).text


@pytest.mark.parametrize(
    "environ",
    [
        {"VSKILL_SIGN_UP_DOMAINS": "acme.example"},
        {"VSKILL_SIGN_UP_DOMAINS": "*"},
        {"VSKILL_SIGN_UP_DOMAINS": "@acme.example"},
    ],
)
def test_domains_need_mail_and_must_be_domains(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="VSKILL_SIGN_UP_DOMAINS"):
        load_settings(environ)


async def test_an_address_that_somebody_else_only_typed_blocks_nobody(visitor: AsyncClient) -> None:
    await a_user(Role.READER)
    await set_mail_address("ben", ADDRESS, actor="ben")

    await ask(visitor)
    (mail,) = await mails()
    done = await create(visitor, await link_in(mail))

    assert done.status_code == 303
    assert (await find_user("ada")).role is Role.READER


async def test_two_links_to_one_address_at_once_make_one_account(visitor: AsyncClient) -> None:
    await ask(visitor)
    (mail,) = await mails()
    keys = [(await link_in(mail)).partition("key=")[2] for _ in range(2)]

    done = await asyncio.gather(
        *(sign_up(key, name=f"ada-{n}", password=PASSWORD) for n, key in enumerate(keys)),
        return_exceptions=True,
    )

    assert sorted(type(one).__name__ for one in done) == ["LinkExpired", "User"]
    assert len(await list_users()) == 1
