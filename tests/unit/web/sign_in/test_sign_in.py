"""Signing in and out in a browser."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response
from litestar import get

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.people import PASSWORD, a_user, csrf_in, let_in
from tests.unit.web.conftest import HTML
from vskill_platform.access.sessions import find_session, list_open_sessions
from vskill_platform.access.users import find_user
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.urls import safe_path


async def try_to_sign_in(
    browser: AsyncClient, name: str = "ada", password: str = PASSWORD, back: str = "/"
) -> Response:
    page = await browser.get("/sign-in")
    form = {"csrf_token": csrf_in(page), "name": name, "password": password, "next": back}
    return await browser.post("/sign-in", data=form)


async def test_after_sign_in_the_user_is_redirected_back(browser: AsyncClient) -> None:
    await a_user()

    answer = await try_to_sign_in(browser, back="/account")
    page = await browser.get("/account")

    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert page.status_code == 200
    assert "ada" in page.text


async def test_the_cookie_is_for_this_site_and_for_no_script(browser: AsyncClient) -> None:
    await a_user()

    answer = await try_to_sign_in(browser)

    (cookie,) = [c for c in answer.headers.get_list("set-cookie") if "vskill_session" in c]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= parts
    assert f"max-age={7 * 24 * 3600}" in parts
    assert "secure" not in parts
    assert not any(part.startswith("domain") for part in parts)


async def test_behind_https_the_cookie_is_secure(bound: WorkerEnv, browser: AsyncClient) -> None:
    settings = msgspec.structs.replace(bound.settings, public_url="https://skills.example")
    app: Any = an_app(replace(bound, settings=settings))
    await a_user()
    async with AsyncClient(
        transport=ASGITransport(app), base_url="https://skills.example", headers=browser.headers
    ) as client:
        page = await client.get("/sign-in")
        answer = await try_to_sign_in(client)

    for reply in (page, answer):
        cookies = reply.headers.get_list("set-cookie")
        assert all("secure" in cookie.lower() for cookie in cookies)
    assert answer.status_code == 303


async def test_a_session_that_was_there_before_is_not_the_one_afterwards(
    browser: AsyncClient,
) -> None:
    await a_user()
    planted = "a" * 43
    browser.cookies.set("vskill_session", planted)

    await try_to_sign_in(browser)

    assert browser.cookies.get("vskill_session", domain="registry.local") != planted
    assert await find_session(planted) is None


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", "wrong"), ("nobody-here", PASSWORD), ("", ""), ("ada", "x" * 9000)],
    ids=["wrong password", "unknown name", "empty", "endless"],
)
async def test_every_wrong_try_gets_the_same_page(
    browser: AsyncClient, name: str, password: str
) -> None:
    await a_user()
    first = await try_to_sign_in(browser, "ada", "another wrong one")

    answer = await try_to_sign_in(browser, name, password)

    assert (first.status_code, answer.status_code) == (401, 401)
    assert answer.text.replace(f'value="{name}"', "") == first.text.replace('value="ada"', "")
    assert "vskill_session" not in answer.headers.get("set-cookie", "")


async def test_typed_values_are_shown_as_text(browser: AsyncClient) -> None:
    answer = await try_to_sign_in(browser, '"><script>alert(1)</script>', "x")

    assert "<script>alert" not in answer.text


async def test_too_many_tries_from_one_address_have_to_wait(
    browser: AsyncClient, clock: ManualClock
) -> None:
    await a_user()
    for number in range(10):
        await try_to_sign_in(browser, f"somebody{number}", "wrong")

    refused = await try_to_sign_in(browser)
    clock.advance(seconds=61)
    later = await try_to_sign_in(browser)

    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 6
    assert "Too many attempts" in refused.text
    assert later.status_code == 303


async def test_too_many_tries_with_one_name_have_to_wait_wherever_they_come_from(
    bound: WorkerEnv,
) -> None:
    app: Any = an_app(bound)
    await a_user()
    answers = []
    for number in range(11):
        transport = ASGITransport(app, client=(f"203.0.113.{number}", 1))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            answers.append((await try_to_sign_in(client, " ADA ", "wrong")).status_code)

    assert answers == [401] * 10 + [429]


async def test_tries_count_on_all_nodes_together(bound: WorkerEnv) -> None:
    nodes: list[Any] = [an_app(bound), an_app(bound)]
    await a_user()
    answers = []
    for number in range(11):
        transport = ASGITransport(nodes[number % 2], client=(f"203.0.113.{number}", 1))
        async with AsyncClient(transport=transport, base_url="http://registry") as client:
            answers.append((await try_to_sign_in(client, "ada", "wrong")).status_code)

    assert answers == [401] * 10 + [429]


async def test_signing_out_ends_the_session_and_takes_the_cookie(browser: AsyncClient) -> None:
    user = await a_user()
    secret = await let_in(browser, user)
    page = await browser.get("/account")

    answer = await browser.post("/sign-out", data={"csrf_token": csrf_in(page)})

    assert answer.status_code == 303
    assert "vskill_session" not in browser.cookies
    assert await find_session(secret) is None


async def test_a_page_that_needs_a_sign_in_leads_there_and_back(browser: AsyncClient) -> None:
    answer = await browser.get("/account?done=token")

    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Faccount%3Fdone%3Dtoken"


async def test_a_form_that_needs_a_sign_in_leads_back_to_its_page(browser: AsyncClient) -> None:
    headers = {"Referer": "http://registry/account"}
    foreign = {"Referer": "http://evil.example/account"}

    own = await browser.post("/account/tokens", headers=headers)
    others = await browser.post("/account/tokens", headers=foreign)

    assert own.headers["location"] == "/sign-in?next=%2Faccount"
    assert others.headers["location"] == "/sign-in"


async def test_a_program_that_is_not_signed_in_gets_an_explanation(program: AsyncClient) -> None:
    answer = await program.get("/account")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "not_signed_in"


async def test_a_signed_in_user_skips_the_sign_in_page(browser: AsyncClient) -> None:
    await let_in(browser, await a_user())

    answer = await browser.get("/sign-in?next=/account")

    assert (answer.status_code, answer.headers["location"]) == (303, "/account")


async def test_a_user_without_the_right_gets_access_denied(bound: WorkerEnv) -> None:
    @get("/only-for-admins", opt={"right": Right.ADMINISTER})
    async def only_for_admins() -> str:
        return "secret"

    transport = ASGITransport(cast("Any", an_app(bound, only_for_admins)))
    async with AsyncClient(transport=transport, base_url="http://registry", headers=HTML) as rae:
        await let_in(rae, await a_user(Role.REVIEWER))
        page = await rae.get("/only-for-admins")

    assert page.status_code == 403
    assert "Your role (reviewer) does not allow administering" in page.text
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "back",
    [
        "https://evil.example/", "//evil.example", "/\\evil.example", "\\/evil.example",
        "/\t/evil.example", "/\n/evil.example", "evil.example", "javascript:alert(1)", "",
        "/%09//evil.example\x00", "/sign-in", "/sign-out", "/welcome?key=x", "/ünïcode",
    ],
    ids=repr,
)  # fmt: skip
async def test_nobody_is_led_elsewhere(browser: AsyncClient, back: str) -> None:
    await let_in(browser, await a_user())

    answer = await browser.get("/sign-in", params={"next": back})

    assert answer.headers["location"] == "/"


async def test_nobody_is_led_elsewhere_by_signing_in(browser: AsyncClient) -> None:
    await a_user()

    answer = await try_to_sign_in(browser, back="//evil.example")

    assert answer.headers["location"] == "/"


@pytest.mark.parametrize("back", ["/", "/account", "/?q=a&after=b%20c#x", "/sign-in-help", "/a//b"])
def test_pages_of_ours_are_led_back_to(back: str) -> None:
    assert safe_path(back) == back


async def test_pages_with_secrets_are_not_kept(browser: AsyncClient) -> None:
    await a_user()
    page = await browser.get("/sign-in")
    await try_to_sign_in(browser)
    account = await browser.get("/account")

    assert page.headers["cache-control"] == "no-store"
    assert account.headers["cache-control"] == "no-store"


async def test_responses_for_signed_in_users_are_private(browser: AsyncClient) -> None:
    open_page = await browser.get("/healthz")
    await let_in(browser, await a_user())

    page = await browser.get("/nothing-here")

    assert "cookie" in page.headers["vary"].lower()
    assert page.headers["cache-control"] == "private, no-cache"
    assert "vary" not in open_page.headers


async def test_the_session_remembers_where_it_was_begun(browser: AsyncClient) -> None:
    await a_user()
    browser.headers["User-Agent"] = "Firefox <b>" + "x" * 500

    await try_to_sign_in(browser)

    (session,) = await list_open_sessions(await find_user("ada"))
    assert session.address == "127.0.0.1"
    assert session.browser.startswith("Firefox <b>")
    assert len(session.browser) == 200
    page = await browser.get("/account")
    assert "Firefox &lt;b&gt;" in page.text
    assert "Firefox <b>" not in page.text


async def test_many_requests_at_once_keep_the_session(
    browser: AsyncClient, clock: ManualClock
) -> None:
    """Nothing is renewed behind a request's back: no page that loads signs another one out."""
    await let_in(browser, await a_user())
    clock.advance(hours=1)  # so that its last use is written down by one of them

    answers = await asyncio.gather(*(browser.get("/account") for _ in range(10)))

    assert {answer.status_code for answer in answers} == {200}
    assert (await browser.get("/account")).status_code == 200
