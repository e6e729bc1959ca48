"""Installed skills over the API: newer versions, and install counts."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from httpx import ASGITransport, AsyncClient

from tests.apps import an_app
from tests.clocks import NOON, ManualClock
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import MANIFEST, change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.skill import TakenDown
from vskill_platform.model.user import Role
from vskill_platform.publish.moderation.yank_version import yank_version
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.install_store import get_installs

CHECK = "/api/v1/skills/check-updates"
SLUG = "ada/notes/tidy"
NEXT = {"SKILL.md": MANIFEST.format(name="tidy")}


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    """A registry with a skill in its second version, one that was taken down, and a yanked one."""
    async with open_registry(bound) as opened:
        await put_skill(bound, tmp_path)
        await put_skill(bound, tmp_path, files=NEXT, at=NOON + timedelta(days=1))
        await put_skill(bound, tmp_path, "ada/notes/gone")
        await change_skill(bound, "ada/notes/gone", down=TakenDown(reason="bad", by="cyd", at=NOON))
        await put_skill(bound, tmp_path, "ada/notes/pulled")
        await yank_version("ada/notes/pulled", "1.0.0", reason="broken", actor="ada")
        yield opened


async def test_clients_learn_of_newer_versions(registry: Registry) -> None:
    latest = (await registry.json(f"/skills/{SLUG}"))["skill"]
    installed = [
        {"name": SLUG, "currentVersion": "1.0.0"},
        {"name": "tidy", "currentVersion": "1.0.1"},
        {"name": SLUG, "currentVersion": "", "sha": latest["sha"]},
        {"name": SLUG, "currentVersion": "odd", "sha": "0" * 64},
        {"name": SLUG, "currentVersion": "0.9.0"},
        {"name": SLUG, "currentVersion": "2.0.0"},
        {"name": "ada/notes/none", "currentVersion": "1.0.0"},
        {"name": "ada/notes/gone", "currentVersion": "1.0.0"},
        {"name": "ada/notes/pulled", "currentVersion": "1.0.0"},
    ]

    answer = await registry.post(
        CHECK, json={"skills": installed, "platform": "linux", "cliVersion": "1.0.0"}
    )

    results = answer.json()["results"]
    assert [
        (one["installed"], one["latest"], one["updateAvailable"], one["versionBump"])
        for one in results
    ] == [
        ("1.0.0", "1.0.1", True, "patch"),
        ("1.0.1", "1.0.1", False, None),
        ("", "1.0.1", False, None),
        ("odd", "1.0.1", True, None),
        ("0.9.0", "1.0.1", True, "major"),
        ("2.0.0", "1.0.1", False, None),
        ("1.0.0", None, False, None),
        ("1.0.0", None, False, None),
        ("1.0.0", None, False, None),
    ]
    assert [one["name"] for one in results] == [one["name"] for one in installed]
    assert {name: results[0][name] for name in ("certTier", "certScore", "slug")} == {
        "certTier": "SCANNED", "certScore": 45, "slug": SLUG,
    }  # fmt: skip
    assert results[0]["publishedAt"] == "2026-03-15T12:00:00Z"
    assert (results[0]["trackedForUpdates"], results[6]["trackedForUpdates"]) == (True, False)


async def test_more_than_a_hundred_are_refused(registry: Registry) -> None:
    item = {"name": "x", "currentVersion": "1.0.0"}

    check = await registry.post(CHECK, json={"skills": [item] * 101})
    report = await registry.post(
        "/api/v1/skills/installs", json={"skills": [{"skillName": "x"}] * 101}
    )
    no_name = await registry.post(CHECK, json={"skills": [{}]})

    assert [one.status_code for one in (check, report, no_name)] == [400] * 3


async def test_installs_are_counted_and_shown(registry: Registry) -> None:
    body = {"repoUrl": "ada/notes", "version": "1.0.1", "source": "cli", "platform": "linux"}

    one = await registry.post(f"/api/v1/skills/{SLUG}/installs", json=body)
    encoded = await registry.post("/api/v1/skills/ada%2Fnotes%2Ftidy/installs", json=body)
    several = await registry.post(
        "/api/v1/skills/installs",
        json={"skills": [{"skillName": "tidy"}, {"skillName": SLUG}, {"skillName": "none"}]},
    )
    nothing = await registry.post("/api/v1/skills/installs", json={"skills": []})
    missing = await registry.post("/api/v1/skills/none/installs", json=body)

    assert [(answer.status_code, answer.json()) for answer in (one, encoded, several, nothing)] == [
        (200, {"ok": True})
    ] * 4
    assert missing.status_code == 404
    assert (await registry.json(f"/skills/{SLUG}"))["skill"]["vskillInstalls"] == 1


async def test_a_visitor_counts_once_a_day_for_each_skill(
    registry: Registry, clock: ManualClock
) -> None:
    ben, ada = await token_of(Role.READER), await token_of(Role.PUBLISHER)
    path, many = f"/api/v1/skills/{SLUG}/installs", {"skills": [{"skillName": SLUG}] * 100}

    async def install(headers: dict[str, str]) -> int:
        for _ in range(3):
            await registry.post("/api/v1/skills/installs", json=many, headers=headers)
            await registry.post(path, json={}, headers=headers)
        return (await get_installs(SLUG)).total

    assert [await install(who) for who in ({}, ben, ada, {})] == [1, 2, 3, 3]
    clock.advance(days=1)
    assert await install({}) == 4


async def test_a_visitor_counts_once_whichever_node_answers(registry: Registry) -> None:
    other = an_app(registry.env)
    path = f"/api/v1/skills/{SLUG}/installs"

    await registry.post(path, json={})
    async with AsyncClient(
        transport=ASGITransport(cast("Any", other)), base_url="http://127.0.0.1"
    ) as elsewhere:
        answer = await elsewhere.post(path, json={})

    assert answer.status_code == 200
    assert (await get_installs(SLUG)).total == 1


async def test_a_private_skill_is_not_there_for_others(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER)
    await add_owner("ada", "ada", actor="test")
    await change_skill(registry.env, SLUG, is_private=True)
    body = {"skills": [{"name": name, "currentVersion": "1.0.0"} for name in (SLUG, "tidy")]}

    owner = await registry.post(CHECK, json=body, headers=ada)
    stranger = await registry.post(CHECK, json=body)
    counted = await registry.post(f"/api/v1/skills/{SLUG}/installs", json={})
    quietly = await registry.post("/api/v1/skills/installs", json={"skills": [{"skillName": SLUG}]})

    assert [one["latest"] for one in owner.json()["results"]] == ["1.0.1", "1.0.1"]
    assert [one["latest"] for one in stranger.json()["results"]] == [None, None]
    assert (counted.status_code, quietly.status_code) == (404, 200)
    assert (await get_installs(SLUG)).total == 0
