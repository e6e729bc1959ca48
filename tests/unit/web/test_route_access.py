"""Every route of the table, requested by every role and with every token scope."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from litestar import Litestar

from tests.apps import an_app
from tests.people import a_user
from tests.unit.web.route_access import EVERYBODY, ROUTES, TABLE
from vskill_platform.access.secret_texts import new_secret
from vskill_platform.access.sessions import begin_session
from vskill_platform.access.tokens import add_token, revoke_token
from vskill_platform.access.users import find_user
from vskill_platform.model.rights import Right
from vskill_platform.model.user import Role, Scope, User
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.token_store import list_tokens
from vskill_platform.web.http.problems import ERROR_CODE_HEADER
from vskill_platform.web.http.visitor import SESSION_COOKIE, VISIT_COOKIE, csrf_token_for
from vskill_platform.web.protocols.clawhub import manage as clawhub_manage

#: What the guard says to whom it does not let through.
_REFUSALS = {"not_signed_in", "right_missing"}
_PARAMETER = re.compile(r"{\w+:(\w+)}")
_EXAMPLES = {"int": "1", "path": "x/y"}
_PATIENCE_SECONDS = 60


@pytest.fixture
def app(bound: WorkerEnv) -> Litestar:
    """The application, for somebody who asks very often."""
    often = 1_000_000
    settings = msgspec.structs.replace(
        bound.settings, reads_per_minute=often, writes_per_minute=often, sign_ins_per_minute=often
    )
    return an_app(replace(bound, settings=settings))


def routes_of(app: Litestar) -> Iterator[str]:
    """Yield `METHOD /path` of every handler; not what tells the methods of a path."""
    for route in app.routes:
        for method in getattr(route, "methods", {type(route).__name__}):
            if method != "OPTIONS":
                yield f"{method} {route.path}"


async def credentials_of(who: str, user: User | None) -> dict[str, str]:
    """Return the headers of a request; with a new session, since a change may end it."""
    if user is None:
        secret = new_secret()
        return {"Cookie": f"{VISIT_COOKIE}={secret}", "X-CSRF-Token": csrf_token_for(secret)}
    if who.startswith("token:"):
        scope = Scope(who.removeprefix("token:"))
        for old in await list_tokens(user.name):  # nobody may have one for each route
            await revoke_token(old.id, actor="test")
        token = await add_token(user.name, who, [scope], actor="test")
        return {"Authorization": f"Bearer {token.text}"}
    opened = await begin_session(await find_user(user.name))
    return {
        "Cookie": f"{SESSION_COOKIE}={opened.secret}",
        "X-CSRF-Token": csrf_token_for(opened.secret),
    }


async def is_refused(app: Any, route: str, headers: dict[str, str]) -> bool:
    """Send a request and read the head of its response, whose body may never end."""
    method, _, path = route.partition(" ")
    path = _PARAMETER.sub(lambda found: _EXAMPLES.get(found.group(1), "x"), path)
    heard: asyncio.Queue[Any] = asyncio.Queue()
    form = {"Host": "registry", "Content-Type": "application/x-www-form-urlencoded"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(k.lower().encode(), v.encode()) for k, v in {**form, **headers}.items()],
        "client": ("127.0.0.1", 1),
        "server": ("registry", 80),
    }
    is_sent = False

    async def receive() -> dict[str, Any]:
        nonlocal is_sent
        if is_sent:
            await asyncio.Event().wait()
        is_sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    task = asyncio.create_task(app(scope, receive, heard.put))
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            head = await heard.get()
            if head["status"] not in {401, 403}:
                return False
            body = (await heard.get())["body"]
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # what breaks behind the head of an answer is not asked here
    codes = [value for name, value in head["headers"] if name == ERROR_CODE_HEADER.lower().encode()]
    if codes:  # ClawHub's clients get plain text
        return codes[0].decode() in _REFUSALS
    is_problem = (b"content-type", b"application/problem+json") in head["headers"]
    return is_problem and msgspec.json.decode(body)["code"] in _REFUSALS


async def test_the_application_has_the_routes_of_the_table_and_no_others(app: Litestar) -> None:
    assert sorted(routes_of(app)) == sorted(ROUTES)


def test_no_route_is_in_the_table_twice() -> None:
    rows = [f"{row.method} {row.path}" for row in TABLE]

    assert sorted(rows) == sorted(set(rows))


def test_only_these_routes_accept_data_without_a_right() -> None:
    found = {row.path for row in TABLE if row.method != "GET" and row.right is Right.ANYONE}

    assert found == {
        "/sign-in",
        "/sign-in/second",  # needs the cookie of a sign-in whose password was right
        "/sign-in/passkey",  # needs a passkey
        "/sign-up",  # emails a link
        "/sign-up/confirm",  # needs the key of that link
        "/sign-in/passkey-options",  # gives a challenge
        "/sign-out",
        "/welcome",  # needs the key of an invitation
        "/forgot-password",  # reveals nothing, and emails only confirmed addresses
        "/confirm-address",  # needs the key in an email
        "/api/cli/device/code",  # gives nothing that a user has not approved
        "/api/cli/device/token",  # needs a code that a user has approved
        "/api/oidc/back-channel-logout",  # needs a token that the provider has signed
        "/api/v1/trusted-publishing/token",  # needs a token that a CI system has signed
        "/api/v1/account/token",  # revokes the token that it is sent with
        "/api/v1/external-scans/{scan_id:str}/callback",  # needs a signature
        "/api/v1/hooks/push/{kind:str}",  # needs a signature
        "/mcp",  # reads; a report needs an account
        "/api/v1/skills/lookup-by-name",  # changes nothing
        "/api/v1/skills/stream/subscribe",  # a list of ids, for a day
        "/api/v1/auth/github/exchange-for-vsk-token",  # needs a GitHub token of a linked account
        "/api/v1/studio/telemetry/{kind:str}",  # not stored
        "/api/v1/skills/check-updates",  # changes nothing
        "/api/v1/skills/installs",
        "/api/v1/skills/{slug:str}/installs",
        "/clawhub/api/cli/telemetry/install",
        "/clawhub/api/v1/skills/-/scan",  # changes nothing
        "/clawhub/api/v1/skills/-/security-verdicts",  # changes nothing
        "/git/{address:path}",  # git reads with POST
    } | {row.path for row in TABLE if row.handler is clawhub_manage.not_offered}


def test_admin_pages_are_for_staff_except_those_of_namespace_owners() -> None:
    staff = {Right.REVIEW, Right.OPERATE, Right.BLOCK, Right.ADMINISTER}

    others = {row.path for row in TABLE if row.path.startswith("/admin") and row.right not in staff}

    assert others == {
        "/admin/delete/{slug:path}",
        "/admin/deprecate/{slug:path}",
        "/admin/rename/{slug:path}",
        "/admin/skills/{slug:path}",
        "/admin/transfer/{slug:path}",
        "/admin/visibility/{slug:path}",
        "/admin/yank/{slug:path}",
        "/admin/webhooks",
        "/admin/webhooks/add",
        "/admin/webhooks/{webhook_id:str}",
        "/admin/webhooks/{webhook_id:str}/{action:str}",
    }


@pytest.mark.parametrize("who", sorted(EVERYBODY))
async def test_each_is_let_through_where_the_table_says_and_nowhere_else(
    app: Litestar, who: str
) -> None:
    await a_user(Role.ADMIN, name="keeper")  # so that there is always another admin
    is_token = who.startswith("token:")
    role = None if who == "anonymous" else Role.ADMIN if is_token else Role(who)
    user = await a_user(role) if role else None

    wrong = []
    headers: dict[str, str] = {}
    for route in sorted(ROUTES):
        is_read = route.startswith("GET ")
        headers = headers or await credentials_of(who, user)
        refused = await is_refused(app, route, headers)
        # A session or token may have ended with what it has changed.
        headers = headers if is_read or refused else {}
        if refused is (who in ROUTES[route]):
            wrong.append(f"{who} is {'refused at' if refused else 'let through to'} {route}")

    assert wrong == []
