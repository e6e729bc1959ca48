"""The page and the API that delete an account."""

from collections.abc import AsyncIterator

import pytest

from tests.clocks import ManualClock
from tests.people import PASSWORD
from tests.unit.web.admin_cast import Operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from vskill_platform.access.users import add_user
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.user_store import get_user

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def test_users_see_what_happens_and_then_delete_their_account(registry: Registry) -> None:
    headers = await browser_of(Role.PUBLISHER, name="ada")
    ada = Operator(registry, headers)

    linked = await ada.see("/account")
    shown = await ada.see("/account/delete")
    wrong = await ada.post("/account/delete", password="not it", confirm="ada")
    done = await ada.post("/account/delete", password=PASSWORD, confirm="ada")
    after = await registry.get("/account", headers=headers)

    assert 'href="/account/delete"' in linked
    assert "<b>@ada</b> has no other owner." in shown
    assert (wrong.status_code, "the password is wrong" in wrong.text.lower()) == (400, True)
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert after.status_code in {302, 303, 401}
    assert await get_user("ada") is None


async def test_admins_delete_users_with_a_reason(registry: Registry) -> None:
    await token_of(Role.PUBLISHER, Scope.READ, name="ada")
    cyd = await token_of(Role.ADMIN, Scope.ADMIN, name="cyd")
    path = "/api/v1/users/ada"

    preview = await registry.get(f"{path}/deletion", headers=cyd)
    unsaid = await registry.post(f"{path}/delete", json={"reason": ""}, headers=cyd)
    done = await registry.post(f"{path}/delete", json={"reason": "asked"}, headers=cyd)
    twice = await registry.post(f"{path}/delete", json={"reason": "asked"}, headers=cyd)

    assert preview.json()["tokens"] == 1
    assert unsaid.status_code == 400
    assert (done.status_code, done.json()) == (200, preview.json())
    assert twice.status_code == 404


async def test_users_delete_their_own_account_with_a_token(registry: Registry) -> None:
    ada = await token_of(Role.READER, Scope.MANAGE, name="ada")
    path = "/api/v1/account"
    good = {"confirm": "ada", "password": PASSWORD}

    preview = await registry.get(f"{path}/deletion", headers=ada)
    unnamed = await registry.post(f"{path}/delete", json={**good, "confirm": "ben"}, headers=ada)
    wrong = await registry.post(f"{path}/delete", json={**good, "password": "x"}, headers=ada)
    left = await get_user("ada")
    done = await registry.post(f"{path}/delete", json=good, headers=ada)
    after = await registry.get(path, headers=ada)

    assert preview.json() == {
        **done.json(), "needsPassword": True, "needsCode": False, "refused": None,
    }  # fmt: skip
    assert (unnamed.status_code, wrong.status_code) == (400, 400)
    assert left
    assert (done.status_code, done.json()["tokens"]) == (200, 1)
    assert after.status_code == 401
    assert await get_user("ada") is None


async def test_a_user_without_a_password_is_asked_to_sign_in_again(
    registry: Registry, clock: ManualClock
) -> None:
    await add_user("ada", Role.PUBLISHER, actor="test")
    ada = Operator(registry, await browser_of(Role.PUBLISHER, name="ada"))

    fresh = await ada.see("/account/delete")
    clock.advance(minutes=11)
    late = await ada.see("/account/delete")
    refused = await ada.post("/account/delete", confirm="ada")

    assert 'name="password"' not in fresh
    assert "Delete my account" in fresh
    assert "sign in again" in late
    assert "Delete my account" not in late
    assert refused.status_code == 400
    assert await get_user("ada")
