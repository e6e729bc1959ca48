"""Passkeys: adding one, signing in with it, and what is refused."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient, Response

from tests.apps import an_app
from tests.clocks import ManualClock
from tests.passkeys import Device
from tests.people import PASSWORD, a_user, csrf_in, let_in
from tests.unit.web.conftest import HTML
from vskill_platform.access.second_factor.factors import reset_second_factor
from vskill_platform.access.sessions import list_open_sessions
from vskill_platform.access.users import disable_user, find_user
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.audit_store import list_audit
from vskill_platform.stores.passkey_store import list_passkeys
from vskill_platform.stores.second_factor_store import get_second_factor

ORIGIN = "https://skills.example"
SECURITY = "/account/security"


class Registry:
    def __init__(self, env: WorkerEnv) -> None:
        self.app = an_app(env)

    def browser(self) -> AsyncClient:
        transport = ASGITransport(cast("Any", self.app))
        return AsyncClient(transport=transport, base_url=ORIGIN, headers=HTML)


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(bound.settings, public_url=ORIGIN, sign_ins_per_minute=1000)
    env = replace(bound, settings=settings)
    token = worker_env_storage.set(env)
    yield Registry(env)
    worker_env_storage.reset(token)


async def options(browser: AsyncClient, page: str, path: str, **fields: str) -> Response:
    form = {"csrf_token": csrf_in(await browser.get(page)), **fields}
    return await browser.post(path, data=form)


async def add(browser: AsyncClient, device: Device, name: str = "Laptop") -> Response:
    """Add a passkey of the signed-in user."""
    asked = await options(browser, SECURITY, "/account/passkey-options", password=PASSWORD)
    assert asked.status_code == 200, asked.text
    form = {
        "csrf_token": csrf_in(await browser.get(SECURITY)),
        "name": name,
        "credential": device.create(asked.json()),
    }
    return await browser.post("/account/passkeys", data=form)


async def sign_in(browser: AsyncClient, device: Device, back: str = "/") -> Response:
    asked = await options(browser, "/sign-in", "/sign-in/passkey-options")
    assert asked.status_code == 200, asked.text
    return await send(browser, device.get(asked.json()), back)


async def send(browser: AsyncClient, credential: str, back: str = "/") -> Response:
    form = {"csrf_token": csrf_in(await browser.get("/sign-in")), "credential": credential}
    return await browser.post("/sign-in/passkey", data={**form, "next": back})


async def with_passkey(registry: Registry, role: Role = Role.PUBLISHER) -> Device:
    browser, device = registry.browser(), Device(ORIGIN)
    await let_in(browser, await a_user(role))
    assert (await add(browser, device)).status_code == 200
    return device


async def test_a_user_signs_in_without_a_password(registry: Registry) -> None:
    device, browser = await with_passkey(registry), registry.browser()

    answer = await sign_in(browser, device, "/account")
    page = await browser.get(SECURITY)

    assert (answer.status_code, answer.headers["location"]) == (303, "/account"), answer.text
    assert "Laptop" in page.text
    sessions = await list_open_sessions(await find_user("ada"))
    assert [one.has_second_factor for one in sessions] == [True, True]
    (passkey,) = await list_passkeys("ada")
    assert (passkey.name, passkey.sign_count) == ("Laptop", 1)


async def test_the_first_passkey_is_the_second_factor_with_recovery_codes(
    registry: Registry,
) -> None:
    browser, device = registry.browser(), Device(ORIGIN)
    await let_in(browser, await a_user())
    other = registry.browser()

    added = await add(browser, device)
    second = await add(browser, Device(ORIGIN), "Phone")
    page = await other.get("/sign-in")
    form = {"csrf_token": csrf_in(page), "name": "ada", "password": PASSWORD, "next": "/account"}
    asked = await other.post("/sign-in", data=form)
    step = await other.get("/sign-in/second")
    challenge = await other.post("/sign-in/passkey-options", data={"csrf_token": csrf_in(step)})
    answer = await other.post(
        "/sign-in/passkey",
        data={"csrf_token": csrf_in(step), "credential": device.get(challenge.json())},
    )

    assert ("Your recovery codes" in added.text, "Your recovery codes" in second.text) == (
        True, False,
    )  # fmt: skip
    assert asked.headers["location"] == "/sign-in/second"
    assert "Use a passkey" in step.text
    assert len(challenge.json()["allowCredentials"]) == 2
    assert (answer.status_code, answer.headers["location"]) == (303, "/account"), answer.text


async def test_the_first_passkey_ends_all_other_sessions_of_the_user(registry: Registry) -> None:
    ada = await a_user()
    here, there = registry.browser(), registry.browser()
    await let_in(here, ada)
    await let_in(there, ada)

    added = await add(here, Device(ORIGIN))

    assert added.status_code == 200, added.text
    assert [one.has_second_factor for one in await list_open_sessions(ada)] == [True]
    assert (await here.get(SECURITY)).status_code == 200
    assert (await there.get(SECURITY)).status_code == 303  # to the sign-in


async def test_after_the_password_only_a_passkey_of_that_user_counts(registry: Registry) -> None:
    await with_passkey(registry)
    others = await with_passkey(registry, Role.ADMIN)
    browser = registry.browser()
    page = await browser.get("/sign-in")
    form = {"csrf_token": csrf_in(page), "name": "ada", "password": PASSWORD}
    await browser.post("/sign-in", data=form)

    answer = await sign_in(browser, others)

    assert answer.status_code == 401


async def test_a_forged_or_repeated_answer_is_refused(registry: Registry) -> None:
    device, browser = await with_passkey(registry), registry.browser()
    thief = Device(ORIGIN)
    thief.credential_id = device.credential_id
    asked = (await options(browser, "/sign-in", "/sign-in/passkey-options")).json()
    fresh = (await options(browser, "/sign-in", "/sign-in/passkey-options")).json()
    elsewhere = (await options(browser, "/sign-in", "/sign-in/passkey-options")).json()
    invented = {**asked, "challenge": "aW52ZW50ZWQ"}
    answer = device.get(asked)

    first = await send(registry.browser(), answer)
    refused = [
        await send(browser, answer),
        await send(browser, thief.get(fresh)),
        await send(browser, device.get(invented)),
        await send(browser, device.get({**elsewhere, "rpId": "evil.example"})),
        await send(browser, "{}"),
        await send(browser, "[" * 1000),
        await send(browser, ""),
        await sign_in(browser, Device(ORIGIN)),
    ]

    assert first.status_code == 303
    assert [one.status_code for one in refused] == [401] * len(refused)


async def test_a_page_of_another_site_a_device_without_a_pin_and_a_copy_are_refused(
    registry: Registry,
) -> None:
    device, browser = await with_passkey(registry), registry.browser()
    await sign_in(registry.browser(), device)
    answers = []

    device.origin = "https://evil.example"
    answers.append(await sign_in(browser, device))
    device.origin, device.flags = ORIGIN, 0x01
    answers.append(await sign_in(browser, device))
    device.flags, device.count = 0x05, 0
    answers.append(await sign_in(browser, device))
    device.count = 10
    right = await sign_in(browser, device)

    assert [one.status_code for one in answers] == [401, 401, 401]
    assert right.status_code == 303


async def test_a_challenge_expires(registry: Registry, clock: ManualClock) -> None:
    device, browser = await with_passkey(registry), registry.browser()
    asked = await options(browser, "/sign-in", "/sign-in/passkey-options")
    clock.advance(minutes=6)

    answer = await send(browser, device.get(asked.json()))

    assert answer.status_code == 401


async def test_adding_one_needs_the_password_and_the_own_challenge(registry: Registry) -> None:
    browser, other, device = registry.browser(), registry.browser(), Device(ORIGIN)
    await let_in(browser, await a_user())
    await let_in(other, await a_user(Role.ADMIN))

    wrong = await options(browser, SECURITY, "/account/passkey-options", password="wrong wrong")
    asked = await options(other, SECURITY, "/account/passkey-options", password=PASSWORD)
    form = {"csrf_token": csrf_in(await browser.get(SECURITY)), "name": "x"}
    stolen = await browser.post(
        "/account/passkeys", data={**form, "credential": device.create(asked.json())}
    )

    assert (wrong.status_code, "password is wrong" in wrong.json()["problem"]) == (400, True)
    assert stolen.status_code == 400
    assert await list_passkeys("ada") == []


async def test_a_passkey_is_removed_with_the_password(registry: Registry) -> None:
    device, browser = await with_passkey(registry), registry.browser()
    await sign_in(browser, device)
    (passkey,) = await list_passkeys("ada")
    form = {"csrf_token": csrf_in(await browser.get(SECURITY)), "act": "remove", "id": passkey.id}

    wrong = await browser.post("/account/passkeys", data={**form, "password": "wrong wrong wrong"})
    done = await browser.post("/account/passkeys", data={**form, "password": PASSWORD})
    after = await sign_in(registry.browser(), device)

    assert [one.status_code for one in (wrong, done, after)] == [400, 200, 401]
    assert await get_second_factor("ada") is None
    outcomes = sorted(
        one.outcome for one in (await list_audit()).records if one.action == "user passkey"
    )
    assert outcomes == ["added", "removed"]


async def test_a_reset_removes_passkeys_and_a_disabled_user_has_none(registry: Registry) -> None:
    device = await with_passkey(registry)
    await reset_second_factor("ada", actor="cyd")
    reset = await sign_in(registry.browser(), device)
    admins = await with_passkey(registry, Role.ADMIN)
    await a_user(Role.ADMIN, "other")
    await disable_user("cyd", actor="test")

    disabled = await sign_in(registry.browser(), admins)

    assert (reset.status_code, disabled.status_code) == (401, 401)
    assert await list_passkeys("ada") == []


async def test_an_address_without_a_host_name_has_no_passkeys(browser: AsyncClient) -> None:
    answer = await options(browser, "/sign-in", "/sign-in/passkey-options")

    assert (answer.status_code, "VSKILL_PUBLIC_URL" in answer.json()["problem"]) == (400, True)
