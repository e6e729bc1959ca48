"""Requests that a page of another site makes a browser send."""

import re
from typing import Any

import pytest
from httpx import AsyncClient
from litestar import Litestar, Request, post

from tests.apps import an_app
from tests.people import a_user, csrf_in, let_in
from vskill_platform.access.tokens import add_token
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.visitor import VISIT_COOKIE


@post("/api/v1/for-anyone", opt={"right": Right.ANYONE}, status_code=200)
async def for_anyone() -> str:
    return "done"


@post("/api/v1/for-accounts", opt={"right": Right.ACCOUNT}, status_code=200)
async def for_accounts() -> str:
    return "done"


@post("/a-form", opt={"right": Right.ANYONE}, status_code=200)
async def a_form(request: Request[Any, Any, Any]) -> str:
    return str((await request.form()).get("word"))


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    """The application, and some paths that change something."""
    return an_app(bound, for_anyone, for_accounts, a_form)


async def test_a_form_of_ours_is_taken_from_somebody_unknown(browser: AsyncClient) -> None:
    token = csrf_in(await browser.get("/sign-in"))

    plain = await browser.post("/a-form", data={"csrf_token": token, "word": "hello"})
    parts = await browser.post(
        "/a-form",
        data={"csrf_token": token, "word": "hello"},
        files={"file": ("a.txt", b"content")},
    )
    by_header = await browser.post("/a-form", headers={"X-CSRF-Token": token}, data={"word": "hi"})

    assert [answer.text for answer in (plain, parts, by_header)] == ["hello", "hello", "hi"]


@pytest.mark.parametrize(
    "form",
    [{}, {"csrf_token": ""}, {"csrf_token": "0" * 64}, {"csrf_token": "ü"}],
    ids=["missing", "empty", "wrong", "odd"],
)
@pytest.mark.parametrize("is_signed_in", [False, True], ids=["unknown", "signed in"])
async def test_a_form_without_the_right_token_is_refused(
    browser: AsyncClient, form: dict[str, str], is_signed_in: bool
) -> None:
    if is_signed_in:
        await let_in(browser, await a_user())
    await browser.get("/sign-in")

    answer = await browser.post("/a-form", data={**form, "word": "hello"})

    assert answer.status_code == 403
    assert "request_forged" in answer.text


async def test_the_token_of_somebody_else_is_refused(app: Litestar, browser: AsyncClient) -> None:
    stranger_token = csrf_in(await browser.get("/sign-in"))
    browser.cookies.clear()
    await let_in(browser, await a_user())
    own_token = csrf_in(await browser.get("/account"))

    answer = await browser.post("/a-form", data={"csrf_token": stranger_token})

    assert own_token != stranger_token
    assert answer.status_code == 403


async def test_every_session_has_a_token_of_its_own(browser: AsyncClient) -> None:
    user = await a_user()
    tokens = set()
    for _ in range(2):
        await let_in(browser, user)
        tokens.add(csrf_in(await browser.get("/account")))

    assert len(tokens) == 2


async def test_the_token_reveals_nothing_about_the_session(browser: AsyncClient) -> None:
    secret = await let_in(browser, await a_user())

    page = await browser.get("/account")

    assert re.fullmatch("[0-9a-f]{64}", csrf_in(page))
    assert secret not in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://registry.evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://registry"},
    ],
    ids=["another site", "a neighbour", "origin", "alike", "hidden origin", "both"],
)
async def test_a_cross_site_request_is_refused_even_with_the_token(
    browser: AsyncClient, headers: dict[str, str]
) -> None:
    token = csrf_in(await browser.get("/sign-in"))

    form = await browser.post("/a-form", data={"csrf_token": token}, headers=headers)
    api = await browser.post("/api/v1/for-anyone", headers=headers)

    assert form.status_code == 403
    assert api.status_code == 403
    assert api.json()["code"] == "request_forged"


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://registry"}],
    ids=["same origin", "typed", "origin"],
)
async def test_a_same_origin_request_still_needs_the_token(
    browser: AsyncClient, headers: dict[str, str]
) -> None:
    token = csrf_in(await browser.get("/sign-in"))

    good = await browser.post("/a-form", data={"csrf_token": token}, headers=headers)
    bad = await browser.post("/a-form", data={}, headers=headers)

    assert (good.status_code, bad.status_code) == (200, 403)


async def test_a_program_without_sign_in_needs_no_token(program: AsyncClient) -> None:
    assert (await program.post("/api/v1/for-anyone")).text == "done"


async def test_a_bearer_token_is_proof_enough(program: AsyncClient) -> None:
    await a_user(Role.ADMIN)
    token = await add_token("cyd", "x", [Scope.ADMIN], actor="cyd")
    headers = {"Authorization": f"Bearer {token.text}", "Origin": "https://elsewhere.example"}

    api = await program.post("/api/v1/for-accounts", headers=headers)
    form = await program.post("/a-form", headers=headers, data={"word": "hello"})

    assert (api.text, form.text) == ("done", "hello")


async def test_a_session_on_the_api_needs_the_token(browser: AsyncClient) -> None:
    await let_in(browser, await a_user())
    token = csrf_in(await browser.get("/account"))

    without = await browser.post("/api/v1/for-accounts")
    open_to_all = await browser.post("/api/v1/for-anyone")
    with_it = await browser.post("/api/v1/for-accounts", headers={"X-CSRF-Token": token})

    assert (without.status_code, open_to_all.status_code, with_it.status_code) == (403, 403, 200)


async def test_only_a_page_with_a_form_sets_a_cookie(browser: AsyncClient) -> None:
    plain = await browser.get("/nothing-here")
    form = await browser.get("/sign-in")
    again = await browser.get("/sign-in")

    assert "set-cookie" not in plain.headers
    assert VISIT_COOKIE in form.headers["set-cookie"]
    assert "HttpOnly" in form.headers["set-cookie"]
    assert "set-cookie" not in again.headers
    assert csrf_in(form) == csrf_in(again)


@pytest.mark.parametrize("planted", ["", "x", "a" * 42, "a" * 4000, "é" * 43])
async def test_a_cookie_that_is_none_of_ours_is_replaced(
    program: AsyncClient, planted: str
) -> None:
    cookie = f"{VISIT_COOKIE}={planted}".encode()

    page = await program.get("/sign-in", headers=[(b"Cookie", cookie), (b"Accept", b"text/html")])

    assert page.status_code == 200
    assert VISIT_COOKIE in page.headers["set-cookie"]


async def test_looking_needs_no_token_and_changes_nothing(browser: AsyncClient) -> None:
    await let_in(browser, await a_user())

    answer = await browser.get("/account", headers={"Sec-Fetch-Site": "cross-site"})
    out = await browser.get("/sign-out")

    assert answer.status_code == 200
    assert out.status_code == 405


async def test_files_of_a_form_that_is_refused_are_closed(browser: AsyncClient) -> None:
    await browser.get("/sign-in")

    answer = await browser.post("/a-form", files={"file": ("a.txt", b"x" * 200_000)})

    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/account", "/sign-in", "/healthz"])
async def test_which_methods_a_path_knows_is_no_secret(program: AsyncClient, path: str) -> None:
    answer = await program.options(path)

    assert answer.status_code == 204
    assert "GET" in answer.headers["allow"]
