"""Sessions over the API: one's own, and those of every user for admins."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry, token_of
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.users import find_user
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv

SESSIONS = "/api/v1/account/sessions"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    async with open_registry(bound) as opened:
        yield opened


async def list_of(registry: Registry, headers: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await registry.json("/account/sessions", headers=headers))[
        "sessions"
    ]
    return found


async def test_users_list_and_end_their_sessions(registry: Registry) -> None:
    browser = await browser_of(Role.PUBLISHER)
    program = await token_of(Role.PUBLISHER, Scope.MANAGE)
    await begin_session(await find_user("ada"), address="203.0.113.7", browser=FIREFOX)

    seen = await list_of(registry, browser)
    (other,) = (one for one in seen if not one["isCurrent"])
    ended = await registry.ask("DELETE", f"{SESSIONS}/{other['id']}", headers=program)
    again = await registry.ask("DELETE", f"{SESSIONS}/{other['id']}", headers=program)
    left = await list_of(registry, program)

    assert (other["address"], other["browser"]) == ("203.0.113.7", "Firefox on Linux")
    assert len(seen) == 2
    assert (ended.status_code, again.status_code) == (200, 404)
    assert [(one["id"], one["isCurrent"]) for one in left] == [
        (one["id"], False) for one in seen if one["isCurrent"]
    ]


async def test_nobody_ends_the_session_of_another_user(registry: Registry) -> None:
    ben, ada = await browser_of(Role.READER), await token_of(Role.PUBLISHER, Scope.MANAGE)
    (session,) = await list_of(registry, ben)

    refused = await registry.ask("DELETE", f"{SESSIONS}/{session['id']}", headers=ada)
    by_reading = await registry.get(SESSIONS, headers=await token_of(Role.PUBLISHER))

    assert (refused.status_code, by_reading.status_code) == (404, 403)
    assert len(await list_of(registry, ben)) == 1


async def test_admins_end_all_sessions_of_a_user(registry: Registry) -> None:
    ben, cyd = await browser_of(Role.READER), await token_of(Role.ADMIN)

    seen = await registry.json("/users/ben/sessions", headers=cyd)
    ended = await registry.ask("DELETE", "/api/v1/users/ben/sessions", headers=cyd)
    after = await registry.get(SESSIONS, headers=ben)
    unknown = await registry.get("/api/v1/users/nobody/sessions", headers=cyd)

    assert (seen["user"], len(seen["sessions"])) == ("ben", 1)
    assert (ended.status_code, after.status_code, unknown.status_code) == (200, 401, 404)
    assert ("cyd", "user sign-out", "ben") in await audited()
