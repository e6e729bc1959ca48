"""The account page: password, tokens, sessions and members."""

import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from tests.people import PASSWORD, a_user, csrf_in, let_in
from vskill_platform.access.namespaces import add_owner
from vskill_platform.access.second_factor.sign_in_step import sign_in
from vskill_platform.access.sessions import begin_session, browser_name, find_session
from vskill_platform.access.tokens import add_token, find_open_token
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.token_store import list_tokens

NEW = "another long password"


@pytest.fixture
async def ada(browser: AsyncClient) -> User:
    """Sign Ada in to the browser."""
    user = await a_user(name="ada")
    await let_in(browser, user)
    return user


async def send(browser: AsyncClient, path: str, **form: Any) -> Response:
    token = csrf_in(await browser.get("/account"))
    return await browser.post(path, data={"csrf_token": token, **form})


async def test_a_new_password_ends_all_other_sessions_and_renews_this_one(
    browser: AsyncClient, ada: User
) -> None:
    old = await let_in(browser, ada)
    elsewhere = await begin_session(ada)

    answer = await send(
        browser, "/account/password", old_password=PASSWORD, password=NEW, password_again=NEW
    )

    assert answer.headers["location"] == "/account?done=password"
    assert await find_session(old) is None
    assert await find_session(elsewhere.secret) is None
    assert "Your password was changed" in (await browser.get(answer.headers["location"])).text
    assert (await sign_in("ada", NEW)).user.name == "ada"
    with pytest.raises(NotSignedIn):
        await sign_in("ada", PASSWORD)


@pytest.mark.parametrize(
    ("old", "new", "again", "words"),
    [
        ("wrong", NEW, NEW, "The current password is wrong"),
        (PASSWORD, NEW, "something else", "do not match"),
        (PASSWORD, "short", "short", "12 to 1000 characters"),
    ],
    ids=["wrong", "do not match", "weak"],
)
async def test_an_impossible_password_is_refused_with_the_reason(
    browser: AsyncClient, ada: User, old: str, new: str, again: str, words: str
) -> None:
    answer = await send(
        browser, "/account/password", old_password=old, password=new, password_again=again
    )

    assert answer.status_code == 400
    assert words in answer.text
    assert (await sign_in("ada", PASSWORD)).user.epoch == ada.epoch


async def test_the_present_password_cannot_be_guessed_all_day(
    browser: AsyncClient, ada: User
) -> None:
    form = {"old_password": "wrong", "password": NEW, "password_again": "other"}
    answers = [(await send(browser, "/account/password", **form)).status_code for _ in range(11)]

    assert answers == [400] * 10 + [429]


async def test_a_token_is_shown_once(browser: AsyncClient, ada: User) -> None:
    answer = await send(
        browser, "/account/tokens", label="the build", scope=["read", "submit"], days="30"
    )
    later = await browser.get("/account")

    (text,) = set(re.findall(r"vsk_[0-9A-Za-z]{40}", answer.text))
    found = await find_open_token(text)
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    assert found
    assert found.record.scopes == (Scope.READ, Scope.SUBMIT)
    assert (found.record.expires_at - found.record.created_at).days == 30
    assert "the build" in later.text
    assert text not in later.text


@pytest.mark.parametrize(
    "form",
    [
        {"label": "", "scope": "read", "days": "30"},
        {"label": "x", "days": "30"},
        {"label": "x", "scope": "everything", "days": "30"},
        {"label": "x", "scope": "admin", "days": "30"},
        {"label": "x", "scope": "read", "days": "9999"},
        {"label": "x", "scope": "read", "days": "²"},
        {"label": "x", "scope": "read"},
    ],
    ids=["no label", "no scope", "unknown scope", "beyond the role", "for ever", "odd", "no days"],
)
async def test_a_token_that_cannot_be_is_not_made(
    browser: AsyncClient, ada: User, form: dict[str, str]
) -> None:
    answer = await send(browser, "/account/tokens", **form)

    assert answer.status_code == 400
    assert await list_tokens() == []


async def test_a_label_is_shown_as_text(browser: AsyncClient, ada: User) -> None:
    await add_token("ada", "<script>alert(1)</script>", [Scope.READ], actor="ada")

    page = await browser.get("/account")

    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text


async def test_ones_own_token_can_be_revoked_and_no_other(browser: AsyncClient, ada: User) -> None:
    await a_user(Role.READER)
    own = await add_token("ada", "x", [Scope.READ], actor="ada")
    others = await add_token("ben", "x", [Scope.READ], actor="ben")

    good = await send(browser, f"/account/tokens/{own.record.id}/revoke")
    bad = await send(browser, f"/account/tokens/{others.record.id}/revoke")

    assert (good.status_code, bad.status_code) == (303, 404)
    assert await find_open_token(own.text) is None
    assert await find_open_token(others.text)


async def test_ones_own_session_can_be_ended_and_no_other(browser: AsyncClient, ada: User) -> None:
    ben = await a_user(Role.READER)
    own, others = await begin_session(ada), await begin_session(ben)

    good = await send(browser, f"/account/sessions/{own.session.id}/end")
    bad = await send(browser, f"/account/sessions/{others.session.id}/end")

    assert (good.status_code, bad.status_code) == (303, 404)
    assert await find_session(own.secret) is None
    assert await find_session(others.secret)


async def test_signing_out_everywhere_ends_this_session_too(
    browser: AsyncClient, ada: User
) -> None:
    elsewhere = await begin_session(ada)

    answer = await send(browser, "/account/sign-out-everywhere")

    assert answer.headers["location"] == "/sign-in"
    assert await find_session(elsewhere.secret) is None
    assert (await browser.get("/account")).status_code == 303


async def test_an_owner_manages_members(browser: AsyncClient, ada: User) -> None:
    await a_user(Role.READER)
    await add_owner("team", "ada", actor="cyd")

    added = await send(browser, "/account/members", namespace="team", member="ben", act="add")
    members = (await get_namespace("team")).record.members
    page = await browser.get("/account")
    unknown = await send(browser, "/account/members", namespace="team", member="zoe", act="add")
    await send(browser, "/account/members", namespace="team", member="ben", act="remove")

    assert added.status_code == 303
    assert members == ("ben",)
    assert "Remove ben from team" in page.text
    assert (unknown.status_code, "no user" in unknown.text) == (400, True)
    assert (await get_namespace("team")).record.members == ()


async def test_only_owners_add_members(browser: AsyncClient, ada: User) -> None:
    await a_user(Role.READER)

    for namespace in ("@ben", "@local", "nobodys", "", "../x"):
        answer = await send(browser, "/account/members", namespace=namespace, member="ada")
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537 Edg/150.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X) Version/18 Safari/605", "Safari on macOS"),
        ("curl/8.1", "curl"),
        ("something of my own", "something of my own"),
        ("x" * 500, "x" * 40),
        ("", "unknown"),
    ],
    ids=["firefox", "edge", "safari", "curl", "own", "long", "silent"],
)  # fmt: skip
def test_a_browser_is_named_in_short(said: str, name: str) -> None:
    assert browser_name(said) == name
