"""How users sign in, changed by admins on a page and over the API, and shown to the user."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.people import a_user
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.second_factor_store import (
    SecondFactor,
    get_second_factor,
    write_second_factor,
)

USER = "/api/v1/users/ada"
ISSUER = "https://login.example"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(
        bound.settings, oidc_issuer=ISSUER, oidc_client_id="registry"
    )
    env = replace(bound, settings=settings)
    token = worker_env_storage.set(env)
    async with open_registry(env) as opened:
        yield opened
    worker_env_storage.reset(token)


async def test_an_admin_links_a_sign_on_account_over_the_api(registry: Registry) -> None:
    await a_user()
    await a_user(Role.READER)
    cyd = await token_of(Role.ADMIN)
    body = {"subject": "s-1", "reason": "same person"}

    before = await registry.json("/users/ada/oidc", headers=cyd)
    linked = await registry.ask("PUT", f"{USER}/oidc", json=body, headers=cyd)
    anothers = await registry.ask("PUT", "/api/v1/users/ben/oidc", json=body, headers=cyd)
    empty = await registry.ask("PUT", f"{USER}/oidc", json={"subject": ""}, headers=cyd)
    shown = await registry.json("/users/ada/oidc", headers=cyd)
    removed = await registry.ask("DELETE", f"{USER}/oidc", headers=cyd)
    twice = await registry.ask("DELETE", f"{USER}/oidc", headers=cyd)
    nobody = await registry.ask("PUT", "/api/v1/users/eve/oidc", json=body, headers=cyd)

    assert before == {"issuer": None, "subject": None, "name": None, "linkedAt": None}
    assert (linked.status_code, linked.json()["subject"]) == (200, "s-1")
    assert (anothers.status_code, empty.status_code) == (403, 400)
    assert (shown["issuer"], shown["subject"]) == (ISSUER, "s-1")
    assert (removed.status_code, twice.status_code, nobody.status_code) == (200, 404, 404)
    actions = [(one.action, one.subject, one.reason) for one in (await list_audit()).records]
    assert ("oidc link", "ada", "same person") in actions
    assert ("oidc unlink", "ada", "") in actions


async def test_users_see_and_remove_their_own_link(registry: Registry) -> None:
    ada, ben = await browser_of(Role.PUBLISHER), await browser_of(Role.READER)
    cyd = await token_of(Role.ADMIN)
    for name in ("ada", "ben"):
        path = f"/api/v1/users/{name}/oidc"
        await registry.ask("PUT", path, json={"subject": f"of {name}"}, headers=cyd)
    headers = {**ada, "Accept": "application/json"}

    shown = await registry.json("/account/oidc", headers=headers)
    removed = await registry.ask("DELETE", "/api/v1/account/oidc", headers=headers)
    gone = await registry.json("/account/oidc", headers=headers)
    of_ben = await registry.json("/account/oidc", headers={**ben, "Accept": "application/json"})

    assert shown["subject"] == "of ada"
    assert (removed.status_code, gone["subject"], of_ben["subject"]) == (200, None, "of ben")


async def test_a_password_link_and_a_reset_second_factor_over_the_api(registry: Registry) -> None:
    await a_user()
    cyd = await token_of(Role.ADMIN)
    factor = SecondFactor(user="ada", recovery=(), added_at=get_now())
    await commit([write_second_factor(factor, expected=0)])

    made = await registry.post(f"{USER}/password-link", json={}, headers=cyd)
    mailed = await registry.post(f"{USER}/password-link", json={"mail": True}, headers=cyd)
    reset = await registry.post(
        f"{USER}/reset-second-factor", json={"reason": "lost the phone"}, headers=cyd
    )
    none = await registry.post(f"{USER}/reset-second-factor", json={}, headers=cyd)

    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    assert "/welcome?key=" in made.json()["url"]
    assert (mailed.status_code, reset.status_code, none.status_code) == (400, 200, 404)
    assert await get_second_factor("ada") is None
    assert ("user second-factor", "lost the phone") in [
        (one.action, one.reason) for one in (await list_audit()).records
    ]


async def test_only_admins_change_how_others_sign_in(registry: Registry) -> None:
    await a_user()
    others = [
        await token_of(Role.REVIEWER),
        await token_of(Role.ADMIN, Scope.READ, Scope.MANAGE, Scope.OPERATE, name="dan"),
    ]
    requests = [
        ("GET", "oidc", None),
        ("PUT", "oidc", {"subject": "s-1"}),
        ("DELETE", "oidc", None),
        ("POST", "password-link", {}),
        ("POST", "reset-second-factor", {}),
    ]

    answers = [
        (await registry.ask(method, f"{USER}/{path}", json=body, headers=headers)).status_code
        for headers in others
        for method, path, body in requests
    ]

    assert set(answers) == {403}


async def test_an_admin_links_and_unlinks_on_the_page(registry: Registry) -> None:
    await a_user()
    cyd = await an_operator(registry, Role.ADMIN)

    linked = await cyd.act("/admin/people/ada/link", subject="s-1", reason="same person")
    page = await cyd.see("/admin/people")
    again = await cyd.act("/admin/people/cyd/link", subject="s-1")
    unlinked = await cyd.act("/admin/people/ada/unlink", reason="left")

    assert "ada can sign in as s-1" in str(linked)
    assert "Unlink sign-on account" in page
    assert page.count("Link sign-on account") == 1
    assert "linked to another user" in str(again)
    assert "ada can no longer sign in as s-1" in str(unlinked)
