"""Sign-in with GitHub over HTTP: the exchange of the original client, and the account page."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.git_server import GitServer
from tests.local_server import local_server
from tests.people import PASSWORD
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.engines.operations import ABSENT
from vskill_platform.model.user import Role
from vskill_platform.secret_settings import Secret
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.github_link_store import get_github_link_of
from vskill_platform.stores.second_factor_store import SecondFactor, write_second_factor

pytestmark = pytest.mark.usefixtures("one_loop")
EXCHANGE = "/api/v1/auth/github/exchange-for-vsk-token"
LINK = "/api/v1/account/github"
SENT = {"githubToken": "gho_ada"}
FORM = {"github_token": "gho_ada", "password": PASSWORD}


async def github(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Report every token as Ada's and issued to our application."""
    line = await reader.readline()
    while (await reader.readline()).strip():
        pass
    user = {"id": 7, "login": "ada"}
    content = msgspec.json.encode({"user": user} if line.startswith(b"POST") else user)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()


@pytest.fixture
async def registry(git_server: GitServer) -> AsyncIterator[Registry]:
    env = bound_env()
    async with local_server(github) as url:
        settings = msgspec.structs.replace(
            env.settings,
            github_sign_in="linked",
            github_api_url=url,
            github_client_id="Iv1.0123",
            github_client_secret=Secret("hush"),
        )
        async with open_registry(replace(env, settings=settings)) as opened:
            yield opened


async def test_the_client_gets_the_fields_that_it_reads(registry: Registry) -> None:
    ada = await token_of(Role.ADMIN, name="ada")
    unlinked = await registry.post(EXCHANGE, json=SENT)
    linked = await registry.post(LINK, json={**SENT, "password": PASSWORD}, headers=ada)

    made = await registry.post(EXCHANGE, json=SENT)

    assert unlinked.status_code == 403
    assert linked.json()["login"] == "ada"
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    got = made.json()
    assert sorted(got) == ["expiresAt", "scopes", "token", "userId"]
    assert (got["scopes"], got["userId"]) == (["read", "submit"], "ada")
    headers = {"Authorization": f"Bearer {got['token']}"}
    assert (await registry.json("/account", headers=headers))["name"] == "ada"


async def test_attempts_are_limited_like_sign_ins(registry: Registry) -> None:
    often = registry.env.settings.sign_ins_per_minute

    found = [(await registry.post(EXCHANGE, json=SENT)).status_code for _ in range(often + 1)]

    assert found == [403] * often + [429]


async def test_an_account_is_linked_and_unlinked_on_its_page(registry: Registry) -> None:
    ada = await browser_of(Role.PUBLISHER, name="ada")

    done = await registry.post("/account/github", data=FORM, headers=ada)
    page = await registry.get("/account", headers=ada)
    undone = await registry.post("/account/github", data={"act": "unlink"}, headers=ada)
    wrong = await registry.post("/account/github", data={**FORM, "github_token": " "}, headers=ada)

    assert (done.status_code, undone.status_code) == (303, 303)
    assert "Linked to <b>ada</b>" in page.text
    assert (wrong.status_code, "Give a GitHub token" in wrong.text) == (400, True)


async def test_a_stolen_session_cannot_link_an_account_that_gets_tokens_later(
    registry: Registry,
) -> None:
    ada = await browser_of(Role.PUBLISHER, name="ada")
    guessed = {**FORM, "password": "a wrong password"}

    without = await registry.post("/account/github", data={"github_token": "gho_ada"}, headers=ada)
    wrong = await registry.post("/account/github", data=guessed, headers=ada)
    over_api = await registry.post(LINK, json=SENT, headers=ada)

    assert [one.status_code for one in (without, wrong, over_api)] == [400, 400, 400]
    assert await get_github_link_of("ada") is None


async def test_a_session_without_the_second_factor_cannot_link_an_account(
    registry: Registry,
) -> None:
    rae = await browser_of(Role.REVIEWER, name="rae")
    factor = SecondFactor(user="rae", recovery=(), added_at=get_now())
    assert await commit([write_second_factor(factor, expected=ABSENT)])

    on_page = await registry.post("/account/github", data=FORM, headers=rae)
    over_api = await registry.post(LINK, json={**SENT, "password": PASSWORD}, headers=rae)

    assert [one.status_code for one in (on_page, over_api)] == [400, 403]
    assert await get_github_link_of("rae") is None


async def test_staff_who_need_a_second_factor_cannot_link_an_account_without_one(
    registry: Registry,
) -> None:
    settings = msgspec.structs.replace(registry.env.settings, second_factor="staff")
    async with open_registry(replace(registry.env, settings=settings)) as strict:
        rae = await browser_of(Role.REVIEWER, name="rae")
        answer = await strict.post(LINK, json={**SENT, "password": PASSWORD}, headers=rae)

    assert answer.status_code == 403
    assert await get_github_link_of("rae") is None


async def test_it_says_that_it_is_off(git_server: GitServer) -> None:
    async with open_registry(bound_env()) as registry:
        ada = await browser_of(Role.PUBLISHER, name="ada")

        answer = await registry.post(EXCHANGE, json=SENT)
        page = await registry.get("/account", headers=ada)

    assert answer.status_code == 501
    assert "no sign-in with GitHub" in answer.json()["message"]
    assert "GitHub account" not in page.text
