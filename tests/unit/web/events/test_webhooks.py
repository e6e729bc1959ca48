"""Webhooks on the pages and over the API: added, changed, tried, replayed, by those who may."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.people import a_user
from tests.unit.web.admin_cast import an_operator
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.webhook_receiver import Receiver, a_receiver, answering
from vskill_platform.access.namespaces import add_owner
from vskill_platform.events.deliver import send_events
from vskill_platform.model.user import Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.webhook_store import list_deliveries, list_endpoints

API = "/api/v1/webhooks"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with a_receiver() as receiver:
        yield receiver


@pytest.fixture
async def registry(env: WorkerEnv, receiver: Receiver) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(env.settings, webhook_private_hosts=receiver.origin)
    calling = replace(env, settings=settings)
    token = worker_env_storage.set(calling)
    async with open_registry(calling) as opened:
        yield opened
    worker_env_storage.reset(token)


async def test_an_owner_manages_a_webhook_on_its_pages(
    registry: Registry, receiver: Receiver
) -> None:
    ada = await an_operator(registry, Role.PUBLISHER)
    await add_owner("ada", "ada", actor="cyd")
    receiver.answer = answering("500 Oops", "<b>broken</b>")

    added = await ada.post(
        "/admin/webhooks/add", url=receiver.url, namespace="ada", label="Chat <b>", shape="standard"
    )
    (endpoint,) = await list_endpoints()
    here = f"/admin/webhooks/{endpoint.id}"
    tested = await ada.act(f"{here}/test")
    await send_events()
    page = await ada.see(here)
    changed = await ada.act(
        f"{here}/change", url=receiver.url, label="", shape="slack", type="version.yanked"
    )
    rotated = await ada.post(f"{here}/rotate")
    off = await ada.act(f"{here}/disable")
    refused = await ada.act(f"{here}/test")
    on = await ada.act(f"{here}/enable")
    (after,) = await list_endpoints()
    removed = await ada.act(f"{here}/remove")

    assert endpoint.secret in added.text
    assert endpoint.secret not in page
    assert tested[0] == changed[0] == off[0] == on[0] == removed[0] == "done"
    assert refused == ("problem", "Switch the webhook on first")
    assert "&lt;b&gt;broken&lt;/b&gt;" in page
    assert "endpoint.test" in page
    assert (after.shape, after.types, after.label) == ("slack", ("version.yanked",), "")
    assert after.secret in rotated.text
    assert await list_endpoints() == []


async def test_failed_deliveries_are_replayed_on_the_page(
    registry: Registry, receiver: Receiver
) -> None:
    ada = await an_operator(registry, Role.PUBLISHER)
    await ada.post("/admin/webhooks/add", url=receiver.url, namespace="@ada")
    (endpoint,) = await list_endpoints()
    here = f"/admin/webhooks/{endpoint.id}"
    await ada.act(f"{here}/test")
    await send_events()
    (delivery,) = await list_deliveries(endpoint.id, limit=10)

    one = await ada.act(f"{here}/replay", delivery=delivery.id)
    none = await ada.act(f"{here}/replay", hours="24")
    strange = await ada.act(f"{here}/replay", delivery="x")
    await send_events()

    assert one == ("done", "The delivery will be sent again in a few seconds.")
    assert none == ("done", "0 failed deliveries will be sent again.")
    assert strange[0] == "problem"
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1
    assert len(receiver.got) == 2


async def test_others_find_no_webhook_of_a_namespace(
    registry: Registry, receiver: Receiver
) -> None:
    ada = await an_operator(registry, Role.PUBLISHER)
    await ada.post("/admin/webhooks/add", url=receiver.url, namespace="@ada")
    (endpoint,) = await list_endpoints()
    ben = await token_of(Role.READER, Scope.READ, Scope.MANAGE)

    answers = [
        await registry.get(f"{API}/{endpoint.id}", headers=ben),
        await registry.ask("PATCH", f"{API}/{endpoint.id}", json={"label": "x"}, headers=ben),
        await registry.ask("DELETE", f"{API}/{endpoint.id}", headers=ben),
        await registry.post(f"{API}/{endpoint.id}/rotate", headers=ben),
        await registry.post(f"{API}/{endpoint.id}/test", headers=ben),
        await registry.get(f"{API}/{endpoint.id}/deliveries", headers=ben),
        await registry.post(f"{API}/{endpoint.id}/replay", json={}, headers=ben),
        await registry.post(API, json={"url": receiver.url, "namespace": "@ada"}, headers=ben),
        await registry.post(API, json={"url": receiver.url}, headers=ben),
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert (await registry.get(API, headers=ben)).json() == {"webhooks": []}


async def test_a_token_for_less_manages_no_webhook_of_the_registry(
    registry: Registry, receiver: Receiver
) -> None:
    admin = await token_of(Role.ADMIN, Scope.ADMIN)
    narrow = await token_of(Role.ADMIN, Scope.READ, Scope.MANAGE)
    made = await registry.post(API, json={"url": receiver.url}, headers=admin)
    webhook = made.json()["webhook"]["id"]

    refused = await registry.post(API, json={"url": receiver.url}, headers=narrow)
    hidden = await registry.get(f"{API}/{webhook}", headers=narrow)

    assert made.status_code == 201
    assert (refused.status_code, hidden.status_code) == (404, 404)
    assert (await registry.get(API, headers=narrow)).json() == {"webhooks": []}


async def test_the_api_adds_changes_tries_replays_and_removes(
    registry: Registry, receiver: Receiver
) -> None:
    await a_user(Role.PUBLISHER)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    body = {"url": receiver.url, "namespace": "@ada", "types": ["version.yanked"]}

    made = await registry.post(API, json=body, headers=ada)
    webhook = made.json()["webhook"]["id"]
    here = f"{API}/{webhook}"
    queued = await registry.post(f"{here}/test", headers=ada)
    await send_events()
    log = await registry.get(f"{here}/deliveries", headers=ada)
    replayed = await registry.post(
        f"{here}/replay", json={"delivery": queued.json()["id"]}, headers=ada
    )
    changed = await registry.ask("PATCH", here, json={"isEnabled": False}, headers=ada)
    wrong = await registry.ask("PATCH", here, json={"types": ["x"]}, headers=ada)
    naive = await registry.post(
        f"{here}/replay", json={"since": "2026-01-01T00:00:00"}, headers=ada
    )
    rotated = await registry.post(f"{here}/rotate", headers=ada)
    removed = await registry.ask("DELETE", here, headers=ada)

    assert re.fullmatch(r"whsec_[A-Za-z0-9+/=]{44}", made.json()["secret"])
    assert log.json()["deliveries"][0]["status"] == 204
    assert replayed.json() == {"replayed": 1}
    assert changed.json()["isEnabled"] is False
    assert (wrong.status_code, naive.status_code) == (400, 400)
    assert rotated.json()["secret"] != made.json()["secret"]
    assert removed.status_code == 200


async def test_a_private_address_is_refused_with_a_hint(registry: Registry) -> None:
    await a_user(Role.PUBLISHER)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)

    answer = await registry.post(
        API, json={"url": "https://10.0.0.1/x", "namespace": "@ada"}, headers=ada
    )

    assert answer.status_code == 400
    assert "VSKILL_WEBHOOK_PRIVATE_HOSTS" in answer.text


async def test_a_token_for_less_than_administration_manages_no_namespace_of_others(
    registry: Registry,
) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE)
    narrow = await token_of(Role.ADMIN, Scope.READ, Scope.MANAGE)
    blind = await token_of(Role.PUBLISHER, Scope.MANAGE)
    body = {"url": "https://hooks.example/x", "namespace": "@ada"}

    found = [
        (await registry.post("/api/v1/webhooks", json=body, headers=headers)).status_code
        for headers in (ada, narrow, blind)
    ]

    assert found == [201, 404, 403]
