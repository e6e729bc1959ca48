"""Accounts, tokens and users over the API."""

from collections.abc import AsyncIterator

import pytest

from tests.people import a_user
from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry, token_of
from vskill_platform.access.namespaces import add_member, add_owner
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv

TOKENS, USERS = "/api/v1/tokens", "/api/v1/users"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_a_program_reads_its_user_and_namespaces(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER)
    await add_owner("git.example/ada", "ada", actor="test")
    await a_user(Role.REVIEWER)
    await add_member("@rae", "ada", actor="test")

    nobody = await registry.json("/account")
    known = await registry.json("/account", headers=ada)
    tenants = await registry.json("/account/tenants", headers=ada)
    no_tenants = await registry.get("/api/v1/account/tenants")
    bad_token = await registry.get("/api/v1/account", headers={"Authorization": "Bearer vsk_x"})

    assert (nobody["name"], nobody["via"], nobody["namespaces"]) == (None, "", [])
    assert (known["name"], known["role"], known["via"]) == ("ada", "publisher", "token")
    assert known["scopes"] == ["read", "submit"]
    assert tenants == {
        "tenants": [
            {"tenantId": "@ada", "slug": "@ada", "name": "@ada", "role": "owner"},
            {"tenantId": "@rae", "slug": "@rae", "name": "@rae", "role": "member"},
            {
                "tenantId": "git.example/ada", "slug": "git.example/ada",
                "name": "git.example/ada", "role": "owner",
            },
        ]
    }  # fmt: skip
    assert (no_tenants.status_code, bad_token.status_code) == (401, 401)
    assert no_tenants.headers["www-authenticate"].startswith("Bearer")


async def test_tokens_are_made_shown_once_used_and_revoked(registry: Registry) -> None:
    cyd, ben = await token_of(Role.ADMIN), await browser_of(Role.READER)
    body = {"label": "ci", "scopes": ["read"], "days": 7}

    made = await registry.post(TOKENS, json=body, headers=cyd)
    token, record = made.json()["token"], made.json()["record"]
    used = await registry.get("/api/v1/account", headers={"Authorization": f"Bearer {token}"})
    listed = await registry.get(TOKENS, headers=cyd)
    by_browser = await registry.post(TOKENS, json={**body, "scopes": ["submit"]}, headers=ben)
    revoked = await registry.ask("DELETE", f"{TOKENS}/{record['id']}", headers=cyd)
    refused = await registry.get("/api/v1/account", headers={"Authorization": f"Bearer {token}"})
    anothers = await registry.ask(
        "DELETE", f"{TOKENS}/{by_browser.json()['record']['id']}", headers=cyd
    )

    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert (record["label"], record["scopes"], record["user"]) == ("ci", ["read"], "cyd")
    assert used.status_code == 200
    assert token not in listed.text
    assert record["id"] in {one["id"] for one in listed.json()["tokens"]}
    assert by_browser.status_code == 201
    assert (revoked.status_code, refused.status_code, anothers.status_code) == (200, 401, 404)


async def test_a_token_revokes_itself(registry: Registry) -> None:
    ada, rae = await token_of(Role.PUBLISHER), await browser_of(Role.REVIEWER)

    revoked = await registry.ask("DELETE", "/api/v1/account/token", headers=ada)
    after = await registry.get("/api/v1/account", headers=ada)
    by_session = await registry.ask("DELETE", "/api/v1/account/token", headers=rae)
    by_nobody = await registry.ask("DELETE", "/api/v1/account/token")

    assert (revoked.status_code, after.status_code) == (200, 401)
    assert (by_session.status_code, by_nobody.status_code) == (401, 401)
    assert [(actor, action) for actor, action, _ in await audited()] == [("ada", "token revoke")]


async def test_tokens_are_never_for_more_than_their_user_may(registry: Registry) -> None:
    ben, ada = await browser_of(Role.READER), await token_of(Role.PUBLISHER)
    bodies = [
        {"label": "x", "scopes": ["admin"]},
        {"label": "x", "scopes": ["review"]},
        {"label": "x", "scopes": []},
        {"label": "x", "scopes": ["root"]},
        {"label": "x", "scopes": ["read"], "days": 1000},
        {"label": "", "scopes": ["read"]},
    ]

    refused = [(await registry.post(TOKENS, json=body, headers=ben)).status_code for body in bodies]
    by_token = await registry.post(TOKENS, json={"label": "x", "scopes": ["read"]}, headers=ada)
    unsigned = await registry.post(
        TOKENS,
        json={"label": "x", "scopes": ["read"]},
        headers={name: value for name, value in ben.items() if name != "X-CSRF-Token"},
    )

    assert set(refused) <= {400, 403}
    assert (by_token.status_code, by_token.json()["code"]) == (403, "right_missing")
    assert (unsigned.status_code, unsigned.json()["code"]) == (403, "request_forged")


async def test_signing_out_everywhere_ends_sessions_and_leaves_tokens(registry: Registry) -> None:
    ben = await browser_of(Role.READER)
    token = await token_of(Role.READER)

    done = await registry.ask("DELETE", "/api/v1/auth/sign-out-all", headers=ben)
    session = await registry.json("/account", headers=ben)
    by_token = await registry.json("/account", headers=token)

    assert (done.status_code, done.json()) == (200, {"ok": True})
    assert (session["name"], by_token["name"]) == (None, "ben")


async def test_admins_add_and_change_people(registry: Registry) -> None:
    cyd, rae = await token_of(Role.ADMIN), await token_of(Role.REVIEWER)

    refused = await registry.get(USERS, headers=rae)
    added = await registry.post(USERS, json={"name": "Dee", "role": "reader"}, headers=cyd)
    again = await registry.post(USERS, json={"name": "dee"}, headers=cyd)
    odd = await registry.post(USERS, json={"name": "../x"}, headers=cyd)
    promoted = await registry.ask("PATCH", f"{USERS}/dee", json={"role": "reviewer"}, headers=cyd)
    locked = await registry.ask("PATCH", f"{USERS}/dee", json={"isDisabled": True}, headers=cyd)
    let_in = await registry.ask("PATCH", f"{USERS}/dee", json={"isDisabled": False}, headers=cyd)
    nothing = await registry.ask("PATCH", f"{USERS}/dee", json={}, headers=cyd)
    missing = [
        await registry.ask("PATCH", f"{USERS}/nobody-here", json=body, headers=cyd)
        for body in ({}, {"role": "admin"})
    ]
    last_admin = await registry.ask("PATCH", f"{USERS}/cyd", json={"role": "reader"}, headers=cyd)
    listed = await registry.get(USERS, headers=cyd)

    assert refused.status_code == 403
    assert (added.status_code, added.json()["user"]["name"]) == (201, "dee")
    assert "/welcome?key=" in added.json()["welcomeUrl"]
    assert added.headers["cache-control"] == "no-store"
    assert (again.status_code, odd.status_code) == (400, 400)
    assert promoted.json()["role"] == "reviewer"
    assert [one.json()["isDisabled"] for one in (locked, let_in, nothing)] == [True, False, False]
    assert [one.status_code for one in missing] == [404, 404]
    assert last_admin.status_code == 403
    assert {one["name"] for one in listed.json()["users"]} == {"cyd", "rae", "dee"}
    assert {who for who, _, subject in await audited() if "dee" in subject} == {"cyd"}
