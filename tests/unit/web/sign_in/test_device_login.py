"""Signing in a program without a browser: its codes, the page, its token."""

import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from tests.clocks import ManualClock
from tests.people import a_user, csrf_in, let_in
from vskill_platform.access.users import disable_user, sign_out_everywhere
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.token_store import list_tokens

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def a_code(program: AsyncClient, **fields: str) -> dict[str, Any]:
    answer = await program.post(
        "/api/cli/device/code", json={"scope": "read submit", "label": "laptop", **fields}
    )
    assert answer.status_code == 200, answer.text
    codes: dict[str, Any] = answer.json()
    return codes


async def ask_for_token(program: AsyncClient, codes: dict[str, Any]) -> Response:
    body = {"device_code": codes["device_code"], "grant_type": GRANT}
    return await program.post("/api/cli/device/token", json=body)


async def decide(browser: AsyncClient, codes: dict[str, Any], ruling: str) -> Response:
    page = await browser.get("/device", params={"user_code": codes["user_code"]})
    assert page.status_code == 200, page.text
    form = {
        "csrf_token": csrf_in(page),
        "user_code": codes["user_code"],
        "ruling": ruling,
    }
    return await browser.post("/device", data=form)


@pytest.fixture
async def ada(browser: AsyncClient) -> User:
    user = await a_user()
    await let_in(browser, user)
    return user


async def test_a_program_gets_a_token_once_its_user_has_approved(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)

    early = await ask_for_token(program, codes)
    approved = await decide(browser, codes, "approve")
    given = await ask_for_token(program, codes)
    again = await ask_for_token(program, codes)

    assert (early.status_code, early.json()["error"]) == (400, "authorization_pending")
    assert (approved.status_code, approved.headers["location"]) == (303, "/device?done=approved")
    answer = given.json()
    assert (answer["token_type"], answer["scope"]) == ("Bearer", "read submit")
    assert given.headers["cache-control"] == "no-store"
    assert (again.status_code, again.json()["error"]) == (400, "expired_token")
    (token,) = await list_tokens("ada")
    assert (token.label, token.scopes) == ("laptop", (Scope.READ, Scope.SUBMIT))
    assert (token.expires_at - token.created_at).days == 90
    who = await program.get(
        "/api/v1/account", headers={"Authorization": f"Bearer {answer['access_token']}"}
    )
    assert who.json()["name"] == "ada"


async def test_the_codes_are_those_of_the_rfc(program: AsyncClient) -> None:
    codes = await a_code(program)

    assert set(codes) == {
        "device_code", "user_code", "verification_uri", "verification_uri_complete",
        "expires_in", "interval",
    }  # fmt: skip
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", codes["user_code"])
    assert codes["verification_uri"] == "http://127.0.0.1:8000/device"
    assert codes["verification_uri_complete"].endswith(f"/device?user_code={codes['user_code']}")
    assert (codes["expires_in"], codes["interval"]) == (600, 3)


async def test_forms_are_taken_as_the_rfc_says(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    answer = await program.post("/api/cli/device/code", data={"client_id": "x", "scope": "read"})
    await decide(browser, answer.json(), "approve")

    body = {"device_code": answer.json()["device_code"], "grant_type": GRANT, "client_id": "x"}
    given = await program.post("/api/cli/device/token", data=body)

    assert given.json()["scope"] == "read"


async def test_write_of_other_clients_means_submit_and_manage(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program, scope="read write", site_url="https://clawhub.example")
    await decide(browser, codes, "approve")

    given = await ask_for_token(program, codes)

    assert given.json()["scope"] == "read submit manage"


async def test_the_page_shows_who_asks_for_what_from_where(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program, label="<b>laptop</b>", scope="read submit review")

    page = await browser.get(f"/device?user_code={codes['user_code'].lower().replace('-', '')}")

    assert "&lt;b&gt;laptop&lt;/b&gt;" in page.text
    assert "127.0.0.1" in page.text
    assert "<b>submit</b>: submit, retry and withdraw" in page.text
    assert "<b>review</b>" not in page.text
    assert re.search(r"Not granted</dt><dd>review ", page.text)


async def test_the_scopes_are_limited_to_those_of_the_user(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program, scope="read review operate")
    await decide(browser, codes, "approve")

    assert (await ask_for_token(program, codes)).json()["scope"] == "read"


@pytest.mark.parametrize("scope", ["admin", "read everything", "<script>"])
async def test_other_scopes_are_refused(program: AsyncClient, scope: str) -> None:
    answer = await program.post("/api/cli/device/code", json={"scope": scope})

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")


async def test_a_denied_program_gets_nothing(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)

    denied = await decide(browser, codes, "deny")
    answer = await ask_for_token(program, codes)

    assert denied.headers["location"] == "/device?done=denied"
    assert (answer.status_code, answer.json()["error"]) == (400, "access_denied")
    assert await list_tokens("ada") == []


async def test_codes_end_after_ten_minutes(
    browser: AsyncClient, program: AsyncClient, clock: ManualClock, ada: User
) -> None:
    codes = await a_code(program)
    clock.advance(minutes=10, seconds=1)

    page = await browser.get("/device", params={"user_code": codes["user_code"]})
    answer = await ask_for_token(program, codes)

    assert page.status_code == 404
    assert "This code is not valid" in page.text
    assert answer.json()["error"] == "expired_token"


async def test_a_program_that_asks_too_often_is_slowed_down(
    program: AsyncClient, clock: ManualClock
) -> None:
    codes = await a_code(program)

    first = await ask_for_token(program, codes)
    second = await ask_for_token(program, codes)
    clock.advance(seconds=3)
    third = await ask_for_token(program, codes)

    said = [answer.json()["error"] for answer in (first, second, third)]
    assert said == ["authorization_pending", "slow_down", "authorization_pending"]
    assert second.json()["interval"] == 8


async def test_a_code_is_decided_once(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)
    page = await browser.get("/device", params={"user_code": codes["user_code"]})
    form = {"csrf_token": csrf_in(page), "user_code": codes["user_code"]}
    await browser.post("/device", data={**form, "ruling": "deny"})

    late = await browser.post("/device", data={**form, "ruling": "approve"})

    assert late.status_code == 404
    assert (await ask_for_token(program, codes)).json()["error"] == "access_denied"


async def test_a_form_of_another_site_approves_nothing(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)

    answer = await browser.post(
        "/device", data={"user_code": codes["user_code"], "ruling": "approve"}
    )

    assert answer.status_code == 403
    assert (await ask_for_token(program, codes)).json()["error"] == "authorization_pending"


async def test_somebody_who_is_not_signed_in_is_led_back_to_the_code(
    browser: AsyncClient, program: AsyncClient
) -> None:
    codes = await a_code(program)

    answer = await browser.get("/device", params={"user_code": codes["user_code"]})

    place = f"/sign-in?next=%2Fdevice%3Fuser_code%3D{codes['user_code']}"
    assert (answer.status_code, answer.headers["location"]) == (303, place)


async def test_the_page_asks_for_the_code_and_works_without_scripts(
    browser: AsyncClient, ada: User
) -> None:
    page = await browser.get("/device")

    assert 'method="get" action="/device"' in page.text
    assert 'name="user_code"' in page.text


async def test_signing_out_everywhere_ends_what_was_just_approved(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)
    await decide(browser, codes, "approve")
    await sign_out_everywhere("ada", actor="ada")

    assert (await ask_for_token(program, codes)).json()["error"] == "access_denied"


async def test_a_disabled_user_gives_no_token(
    browser: AsyncClient, program: AsyncClient, ada: User
) -> None:
    codes = await a_code(program)
    await decide(browser, codes, "approve")
    await a_user(Role.ADMIN)
    await disable_user("ada", actor="cyd", reason="")

    assert (await ask_for_token(program, codes)).json()["error"] == "access_denied"


async def test_codes_are_stored_only_as_digests(program: AsyncClient, bound: WorkerEnv) -> None:
    codes = await a_code(program)

    page = await bound.engine.kv.list_keys("device", limit=10)
    stored = [await bound.engine.kv.get(key) for key in page.keys]

    assert len(page.keys) == 2
    everything = f"{page.keys} {[item.value for item in stored if item]}"
    assert codes["device_code"] not in everything
    assert codes["user_code"] not in everything
    assert codes["user_code"].replace("-", "") not in everything


async def test_requests_for_codes_are_limited(program: AsyncClient) -> None:
    answers = [await program.post("/api/cli/device/code", json={}) for _ in range(11)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429]


async def test_guesses_of_codes_are_limited(browser: AsyncClient, ada: User) -> None:
    answers = [await browser.get("/device?user_code=BCDF-GHJK") for _ in range(11)]

    assert [answer.status_code for answer in answers] == [404] * 10 + [429]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "invalid_request"),
        pytest.param(b"[" * 60_000, "invalid_request", id="deep"),
        (b"[]", "invalid_request"),
        (b"{}", "unsupported_grant_type"),
        (f'{{"grant_type": "{GRANT}"}}'.encode(), "invalid_request"),
        (f'{{"grant_type": "{GRANT}", "device_code": 1}}'.encode(), "invalid_request"),
        (f'{{"grant_type": "{GRANT}", "device_code": "x"}}'.encode(), "expired_token"),
    ],
)
async def test_an_odd_request_gets_an_error_of_the_rfc(
    program: AsyncClient, body: bytes, error: str
) -> None:
    answer = await program.post(
        "/api/cli/device/token", content=body, headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, answer.json()["error"]) == (400, error)


async def test_decisions_are_in_the_audit_log(
    browser: AsyncClient, program: AsyncClient, clock: ManualClock, ada: User
) -> None:
    clock.advance(seconds=1)
    codes = await a_code(program)
    await decide(browser, codes, "approve")
    clock.advance(seconds=1)
    await ask_for_token(program, codes)
    clock.advance(seconds=1)
    await decide(browser, await a_code(program, label="other"), "deny")

    found = [(one.action, one.actor, one.reason) for one in (await list_audit()).records]

    assert found[:3] == [
        ("device deny", "ada", "other"),
        ("token add", "ada", "laptop"),
        ("device approve", "ada", "laptop"),
    ]
