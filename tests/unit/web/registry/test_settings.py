"""The settings over the API: for admins, read-only and without secrets."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from tests.unit.web.api_cast import Registry, open_registry, token_of
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.secret_settings import Secret

SETTINGS = "/api/v1/settings"


@pytest.fixture
async def registry(bound: WorkerEnv) -> AsyncIterator[Registry]:
    settings = msgspec.structs.replace(
        bound.settings,
        metrics_token=Secret("xyzzy-metrics-token"),
        notify_command='["/usr/bin/notify", "https://chat.example/xyzzy-path"]',
    )
    async with open_registry(replace(bound, settings=settings)) as opened:
        yield opened


async def test_the_settings_are_shown_without_secrets(registry: Registry) -> None:
    answer = await registry.get(SETTINGS, headers=await token_of(Role.ADMIN))

    found = {one["variable"]: one for one in answer.json()["settings"]}
    assert answer.json()["node"] == "node-1"
    node = found["VSKILL_NODE"]
    assert (node["value"], node["origin"]) == ("node-1", "default")
    assert found["VSKILL_NOTIFY_COMMAND"]["value"].startswith("/usr/bin/notify (")
    assert "xyzzy" not in answer.text


async def test_only_admins_see_them(registry: Registry) -> None:
    answers = [await registry.get(SETTINGS, headers=await token_of(role)) for role in Role]

    assert [answer.status_code for answer in answers] == [403, 403, 403, 200]
