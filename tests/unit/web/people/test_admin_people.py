"""The admin pages of users, tokens and namespaces, and the messages after an action."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from http.cookies import SimpleCookie
from typing import Any, cast
from urllib.parse import unquote

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.people import a_user
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry
from vskill_platform.access.sessions import begin_session, end_session
from vskill_platform.access.tokens import add_token
from vskill_platform.access.users import find_user
from vskill_platform.engines.operations import ABSENT
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.stores.user_store import write_user
from vskill_platform.web.html.flash import DONE, flash


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_users_are_invited_changed_disabled_and_enabled(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)

    added = await cyd.post("/admin/people/add", name="Dee", role="reader")
    twice = await cyd.act("/admin/people/add", name="dee", role="reader")
    odd = await cyd.act("/admin/people/add", name="eve", role="emperor")
    raised = await cyd.act("/admin/people/dee/role", role="reviewer")
    free = await cyd.see("/admin/namespaces")
    locked = await cyd.act("/admin/people/dee/disable", reason="left")
    shut_out = await cyd.see("/admin/namespaces")
    page = await cyd.see("/admin/people")
    let_in = await cyd.act("/admin/people/dee/enable")
    invited = await cyd.post("/admin/people/dee/invite")
    nobody = await cyd.act("/admin/people/nobody/invite")
    last = await cyd.act("/admin/people/cyd/role", role="reader")
    unknown = await cyd.act("/admin/people/nobody/disable")
    no_deed = await cyd.post("/admin/people/dee/erase")

    def owners(page: str) -> list[str]:
        choice = page.partition('<select id="owner"')[2].partition("</select>")[0]
        return re.findall(r"<option>([a-z]+)</option>", choice)

    assert "dee" in owners(free)
    assert "dee" not in owners(shut_out)
    assert "cyd" in owners(shut_out)
    for answer in (added, invited):
        assert re.search(r"Send <b>dee</b> this link", answer.text)
        assert re.search(r"/welcome\?key=[\w-]+", answer.text)
        assert answer.headers["cache-control"] == "no-store"
        assert "welcome" not in answer.headers.get("set-cookie", "")
    assert (twice[0], odd[0], last[0], unknown[0], nobody[0]) == ("problem",) * 5
    assert raised == ("done", "The role of dee is now reviewer.")
    assert locked == ("done", "dee was disabled.")
    assert "disabled</span>" in page
    assert let_in == ("done", "dee was enabled.")
    assert no_deed.status_code == 404
    assert (await find_user("dee")).role is Role.REVIEWER
    actions = [what for who, what, subject in await audited() if (who, subject) == ("cyd", "dee")]
    assert actions == sorted(
        ["user add", "user disable", "user enable", "user invite", "user invite", "user set-role"]
    )


async def test_tokens_of_others_are_revoked_and_namespaces_get_owners(registry: Registry) -> None:
    await a_user(Role.PUBLISHER)
    token = await add_token("ada", "her ci", [Scope.READ], actor="test")
    cyd = await an_operator(registry, Role.ADMIN)

    page = await cyd.see("/admin/tokens")
    revoked = await cyd.act(f"/admin/tokens/{token.record.id}/revoke", reason="lost")
    again = await cyd.act(f"/admin/tokens/{token.record.id}/revoke", reason="lost")
    owned = await cyd.act("/admin/namespaces/add-owner", namespace="Git.Example/ada", user="ada")
    odd = await cyd.act("/admin/namespaces/add-owner", namespace="a b", user="ada")
    nobody = await cyd.act("/admin/namespaces/add-owner", namespace="x", user="none")
    listed = await cyd.see("/admin/namespaces")
    free = await cyd.act("/admin/namespaces/remove-owner", namespace="git.example/ada", user="ada")
    no_deed = await cyd.post("/admin/namespaces/burn", namespace="x", user="ada")

    assert "her ci" in page
    assert token.text not in page
    assert (revoked[0], again[0]) == ("done", "problem")
    assert await list_tokens("ada") == []
    assert owned == ("done", "Owners of git.example/ada: ada.")
    assert (odd[0], nobody[0]) == ("problem", "problem")
    assert "git.example/ada" in listed
    assert free == ("done", "Owners of git.example/ada: none.")
    assert (await get_namespace("git.example/ada")).record.owners == ()
    assert no_deed.status_code == 404
    assert [(who, what) for who, what, _ in await audited()] == [
        ("cyd", "namespace add-owner"),
        ("cyd", "namespace remove-owner"),
        ("cyd", "token revoke"),
    ]


async def test_the_users_page_finds_users_and_shows_their_last_sign_in(registry: Registry) -> None:
    cyd = await an_operator(registry, Role.ADMIN)
    await a_user(Role.PUBLISHER)
    await cyd.post("/admin/people/add", name="dee", role="reader")

    everybody = await cyd.see("/admin/people")
    found = await cyd.see("/admin/people?q=CY")
    nobody = await cyd.see("/admin/people?q=%3Cb%3Enobody")

    pending = everybody.partition("Pending invitations")[2].partition("</section>")[0]
    assert re.findall(r"<td><b>(\w+)</b>", pending) == ["dee"]
    assert "Invitation</td>" in pending
    assert _accounts(everybody) == {"ada": False, "cyd": True, "dee": False}
    assert _accounts(found) == {"cyd": True}
    assert "No users found" in nobody
    assert "<b>nobody" not in nobody


async def test_a_sign_in_stays_known_after_its_session_has_ended(registry: Registry) -> None:
    user = await a_user(Role.PUBLISHER)
    opened = await begin_session(user)
    await end_session(user.name, opened.session.id)
    cyd = await an_operator(registry, Role.ADMIN)

    page = await cyd.see("/admin/people?q=ada")

    assert _accounts(page) == {"ada": True}


async def test_long_lists_of_users_have_pages(registry: Registry) -> None:
    now = get_now()
    users = [User(name=f"user-{at:02}", role=Role.READER, created_at=now) for at in range(60)]
    await commit([write_user(user, expected=ABSENT) for user in users])
    cyd = await an_operator(registry, Role.ADMIN)

    pages = [await cyd.see(f"/admin/people?q=user-&page={page}") for page in ("1", "2", "99", "x")]

    assert [len(_accounts(page)) for page in pages] == [50, 10, 10, 50]
    assert "60 users" in pages[0]
    assert 'href="/admin/people?q=user-&amp;page=2"' in pages[0]


def _accounts(page: str) -> dict[str, bool]:
    """Return the users of the list, and whether a sign-in of each is known."""
    rows = page.partition('id="users"')[2].split("<tr>")[2:]
    names = [re.search(r'<select id="role-([a-z0-9-]+)"', row) for row in rows]
    return {
        name.group(1): "none recorded" not in row
        for name, row in zip(names, rows, strict=True)
        if name
    }


async def test_a_flash_message_fits_into_a_cookie_for_the_panel_alone(
    registry: Registry,
) -> None:
    cookie = flash(DONE, "ä" * 5_000 + "😀", on="/admin")
    cyd = await browser_of(Role.ADMIN)
    settings = msgspec.structs.replace(registry.env.settings, public_url="https://skills.example")
    env = replace(registry.env, settings=settings)

    async def over_tls() -> str:
        transport = ASGITransport(cast("Any", an_app(env)))
        async with AsyncClient(transport=transport, base_url="https://registry") as client:
            answer = await client.post("/admin/queue/resume", headers=cyd)
            return answer.headers["set-cookie"]

    secure = await run_with_worker_env(env, over_tls)

    assert cookie.value
    assert len(cookie.to_header()) < 4_096
    assert set(unquote(cookie.value.removeprefix("done:"))) == {"ä"}
    said = SimpleCookie(secure)["vskill_flash"]
    assert (said["path"], said["httponly"], said["secure"], said["samesite"]) == (
        "/admin", True, True, "strict",
    )  # fmt: skip


async def test_words_that_somebody_else_put_into_the_cookie_are_only_words(
    registry: Registry,
) -> None:
    cyd = await browser_of(Role.ADMIN)

    pages = [
        await registry.get(
            "/admin/queue", headers={**cyd, "Cookie": f"{cyd['Cookie']}; vskill_flash={value}"}
        )
        for value in ("done:%3Cscript%3Ealert(1)%3C/script%3E", "evil:x", ":", "done:%ff%fe")
    ]

    assert {page.status_code for page in pages} == {200}
    assert "<script>alert(1)" not in pages[0].text
    assert "&lt;script&gt;alert(1)" in pages[0].text
