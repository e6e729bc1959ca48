"""The page and the API that delete an account."""

from collections.abc import AsyncIterator

import pytest

from tests.people import PASSWORD
from tests.unit.web.admin_cast import Operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
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
