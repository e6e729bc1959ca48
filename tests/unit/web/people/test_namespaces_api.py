"""Owners and members of namespaces over the API: who may list and change them."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.web.api_cast import Registry, audited, open_registry, token_of
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import bound_env
from vskill_platform.stores.namespace_store import get_namespace

pytestmark = pytest.mark.usefixtures("one_loop")
WHERE = "/api/v1/namespaces"
MEMBERS, OWNERS = f"{WHERE}/members", f"{WHERE}/owners"
BEN = {"namespace": "acme", "user": "ben"}


@pytest.fixture
async def registry(bound: object) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        yield opened


async def test_an_owner_adds_lists_and_removes_members(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ada")
    ben = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ben")
    await add_owner("acme", "ada", actor="test")

    added = await registry.post(MEMBERS, json=BEN, headers=ada)
    of_ada = await registry.json("/namespaces", headers=ada)
    of_ben = await registry.json("/namespaces", headers=ben)
    removed = await registry.ask("DELETE", MEMBERS, params=BEN, headers=ada)
    again = await registry.ask("DELETE", MEMBERS, params=BEN, headers=ada)
    unknown = await registry.post(MEMBERS, json={**BEN, "user": "zoe"}, headers=ada)

    assert added.json() == {
        "name": "acme", "owners": ["ada"], "members": ["ben"], "isOwned": True, "isDeleted": False,
    }  # fmt: skip
    assert [one["name"] for one in of_ada["namespaces"]] == ["@ada", "acme"]
    assert [one["members"] for one in of_ben["namespaces"]] == [[], None]
    assert (removed.status_code, removed.json()["members"]) == (200, [])
    assert [again.status_code, unknown.status_code] == [404, 404]
    assert ("ada", "namespace add-member", "acme ben") in await audited()


async def test_members_strangers_and_tokens_that_cannot_read_change_nothing(
    registry: Registry,
) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ada")
    ben = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ben")
    weaker = await token_of(Role.PUBLISHER, Scope.MANAGE, name="ada")
    rae = await token_of(Role.REVIEWER, name="rae")
    await add_owner("acme", "ada", actor="test")
    await registry.post(MEMBERS, json=BEN, headers=ada)

    found = [
        (await registry.post(MEMBERS, json=BEN, headers=who)).status_code
        for who in (ben, weaker, rae, {})
    ]
    gone = await registry.ask("DELETE", MEMBERS, params=BEN, headers=rae)
    listed = await registry.get(WHERE, headers=weaker)

    assert found == [403, 403, 403, 401]
    assert [gone.status_code, listed.status_code] == [403, 403]
    assert (await get_namespace("acme")).record.members == ("ben",)


async def test_only_admins_change_owners_and_see_all_namespaces(registry: Registry) -> None:
    ada, cyd = await token_of(Role.PUBLISHER, name="ada"), await token_of(Role.ADMIN, name="cyd")
    await token_of(Role.PUBLISHER, name="ben")
    await add_owner("acme", "ada", actor="test")

    refused = await registry.post(OWNERS, json=BEN, headers=ada)
    added = await registry.post(OWNERS, json=BEN, headers=cyd)
    removed = await registry.ask("DELETE", OWNERS, params={**BEN, "user": "ada"}, headers=cyd)
    missing = await registry.ask("DELETE", OWNERS, params={**BEN, "user": "ada"}, headers=cyd)
    member = await registry.post(MEMBERS, json={**BEN, "user": "ada"}, headers=cyd)
    wrong = await registry.post(OWNERS, json={**BEN, "namespace": "a b"}, headers=cyd)
    listed = await registry.json("/namespaces", headers=cyd)

    found = [one.status_code for one in (refused, added, removed, missing, member, wrong)]
    assert found == [403, 200, 200, 404, 200, 400]
    assert added.json()["owners"] == ["ada", "ben"]
    assert [(one["name"], one["owners"]) for one in listed["namespaces"]] == [("acme", ["ben"])]


async def test_a_long_list_has_pages(registry: Registry) -> None:
    cyd = await token_of(Role.ADMIN, name="cyd")
    for name in ("acme", "beta", "core"):
        await add_owner(name, "cyd", actor="test")

    first = await registry.json("/namespaces?limit=2", headers=cyd)
    rest = await registry.json(f"/namespaces?limit=2&cursor={first['nextCursor']}", headers=cyd)

    found = [[one["name"] for one in page["namespaces"]] for page in (first, rest)]
    assert found == [["acme", "beta"], ["core"]]
    assert rest["nextCursor"] is None
