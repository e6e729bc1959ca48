"""Trusted publishers over the API and on the page of the account."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.access.namespaces import add_member
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.trusted_publisher_store import list_trusted_publishers

pytestmark = pytest.mark.usefixtures("one_loop")
WHERE = "/api/v1/trusted-publishers"
GITHUB = "https://token.actions.githubusercontent.com"
NEW = {"namespace": "@ada", "repository": "acme/skills", "issuer": GITHUB, "workflow": "ci.yml"}


@pytest.fixture
async def registry(tmp_path: Path, bound: object) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        yield opened


async def test_owners_add_list_and_remove_over_the_api(registry: Registry) -> None:
    scopes = (Scope.READ, Scope.SUBMIT, Scope.MANAGE)
    ada = await token_of(Role.PUBLISHER, *scopes, name="ada")
    ben = await token_of(Role.PUBLISHER, *scopes, name="ben")
    weaker = await token_of(Role.PUBLISHER, Scope.MANAGE, name="ada")

    made = await registry.post(WHERE, json=NEW, headers=ada)
    stranger = await registry.post(WHERE, json=NEW, headers=ben)
    less = await registry.post(WHERE, json=NEW, headers=weaker)
    listed = await registry.json("/trusted-publishers?namespace=@ada", headers=ada)
    hidden = await registry.get(f"{WHERE}?namespace=@ada", headers=ben)
    not_his = await registry.ask("DELETE", f"{WHERE}/{made.json()['id']}", headers=ben)
    gone = await registry.ask("DELETE", f"{WHERE}/{made.json()['id']}", headers=ada)

    found = [answer.status_code for answer in (made, stranger, less, hidden)]
    assert found == [201, 403, 403, 403]
    assert [one["repository"] for one in listed["publishers"]] == ["acme/skills"]
    assert GITHUB in listed["issuers"]
    assert (not_his.status_code, gone.status_code) == (404, 200)
    assert await list_trusted_publishers("@ada") == []


async def test_a_token_that_no_ci_system_signed_is_refused(registry: Registry) -> None:
    sent = {"token": "a.b.c", "namespace": "@ada"}
    answer = await registry.post("/api/v1/trusted-publishing/token", json=sent)

    assert answer.status_code == 401


async def test_the_page_adds_shows_and_removes(registry: Registry) -> None:
    ada = await browser_of(Role.PUBLISHER, name="ada")

    empty = await registry.get("/account/publishers", headers=ada)
    added = await registry.post("/account/publishers/add", data=NEW, headers=ada)
    wrong = await registry.post(
        "/account/publishers/add", data={**NEW, "repository": "x"}, headers=ada
    )
    page = await registry.get("/account/publishers", headers=ada)
    (one,) = await list_trusted_publishers("@ada")
    removed = await registry.post(f"/account/publishers/{one.id}/remove", headers=ada)

    assert "No trusted publishers" in empty.text
    assert [answer.status_code for answer in (added, wrong, removed)] == [303, 303, 303]
    assert "problem" in wrong.headers["set-cookie"]
    assert "acme/skills" in page.text
    assert "workflow ci.yml" in page.text
    assert await list_trusted_publishers("@ada") == []


async def test_both_forms_offer_the_namespaces_in_which_the_user_may_act(
    registry: Registry,
) -> None:
    rae = await browser_of(Role.REVIEWER, name="rae")
    ada = await browser_of(Role.PUBLISHER, name="ada")
    for name in ("rae", "ada"):
        await add_member("@team", name, actor="test")

    pages = [
        (await registry.get(path, headers=user)).text
        for path in ("/account/publishers", "/submit")
        for user in (rae, ada)
    ]

    assert ["@team" in page for page in pages] == [True, False, True, False]
