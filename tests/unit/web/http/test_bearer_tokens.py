"""Tokens of programs, as they come with a request."""

from typing import Any

import pytest
from httpx import AsyncClient
from litestar import Litestar, Request, get, post

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.people import a_user, let_in
from vskill_platform.access.tokens import NewToken, add_token, revoke_token
from vskill_platform.access.users import disable_user, set_role
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.visitor import visitor_of


@get("/api/v1/who", opt={"right": Right.ANYONE})
async def who(request: Request[Any, Any, Any]) -> dict[str, str]:
    visitor = visitor_of(request)
    return {"name": visitor.name, "via": visitor.via}


@post("/api/v1/operate", opt={"right": Right.OPERATE}, status_code=200)
async def operate() -> str:
    return "done"


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    return an_app(bound, who, operate)


@pytest.fixture
async def token(bound: WorkerEnv) -> NewToken:
    """A token of Rae, who reviews, with all that she can give it."""
    await a_user(Role.REVIEWER)
    return await add_token("rae", "the build", set(Scope) - {Scope.ADMIN}, actor="rae")


def bearing(token: NewToken | str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token if isinstance(token, str) else token.text}"}


async def test_a_token_identifies_its_user(
    app: Litestar, program: AsyncClient, token: NewToken
) -> None:
    answer = await program.get("/api/v1/who", headers=bearing(token))
    odd = await program.get("/api/v1/who", headers={"Authorization": f"bearer  {token.text} "})

    assert answer.json() == {"name": "rae", "via": "token"}
    assert odd.json() == answer.json()


@pytest.mark.parametrize(
    "authorization",
    ["Bearer", "Bearer ", "Bearer vsk_x", "Bearer " + "x" * 5000, "Basic cmFlOnBhc3M=", "vsk_x"],
    ids=["bare", "empty", "short", "endless", "another scheme", "no scheme"],
)
async def test_an_invalid_token_is_refused_everywhere(
    program: AsyncClient, authorization: str
) -> None:
    answer = await program.get("/api/v1/who", headers={"Authorization": authorization})

    assert answer.status_code == 401
    assert answer.json()["code"] == "not_signed_in"
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_token_that_was_revoked_is_refused(program: AsyncClient, token: NewToken) -> None:
    await revoke_token(token.record.id, actor="cyd")

    assert (await program.get("/api/v1/who", headers=bearing(token))).status_code == 401


async def test_a_token_that_has_expired_is_refused(
    program: AsyncClient, token: NewToken, clock: ManualClock
) -> None:
    clock.advance(days=91)

    assert (await program.get("/api/v1/who", headers=bearing(token))).status_code == 401


async def test_the_token_of_a_disabled_user_is_refused(
    program: AsyncClient, token: NewToken
) -> None:
    await disable_user("rae", actor="cyd")

    assert (await program.get("/api/v1/who", headers=bearing(token))).status_code == 401


async def test_a_token_without_the_scope_gets_an_explanation(
    program: AsyncClient, token: NewToken
) -> None:
    small = await add_token("rae", "small", [Scope.READ], actor="rae")

    good = await program.post("/api/v1/operate", headers=bearing(token))
    bad = await program.post("/api/v1/operate", headers=bearing(small))

    assert (good.status_code, bad.status_code) == (200, 403)
    assert bad.json()["code"] == "right_missing"
    assert bad.json()["detail"] == (
        "this token does not allow managing the queue: it needs the scope operate"
    )
    assert "vskill-platform login URL --scope SCOPE" in bad.json()["hint"]


async def test_a_role_that_is_taken_away_is_taken_from_the_token_at_once(
    program: AsyncClient, token: NewToken
) -> None:
    await set_role("rae", Role.READER, actor="cyd")

    answer = await program.post("/api/v1/operate", headers=bearing(token))

    assert answer.json()["code"] == "right_missing"
    assert answer.json()["detail"] == "your role (reader) does not allow managing the queue"
    assert answer.json()["hint"] == "An admin can change your role."


async def test_a_token_speaks_before_a_session(browser: AsyncClient, token: NewToken) -> None:
    await let_in(browser, await a_user(name="ada"))

    by_both = await browser.get("/api/v1/who", headers=bearing(token))
    by_session = await browser.get("/api/v1/who")

    assert by_both.json() == {"name": "rae", "via": "token"}
    assert by_session.json() == {"name": "ada", "via": "session"}


async def test_a_token_in_the_address_is_no_token(program: AsyncClient, token: NewToken) -> None:
    answer = await program.get("/api/v1/who", params={"access_token": token.text})

    assert answer.json()["via"] == ""


async def test_anonymous_visitors_are_identified_by_their_network(program: AsyncClient) -> None:
    assert (await program.get("/api/v1/who")).json()["name"] == "anonymous@127.0.0.x"
