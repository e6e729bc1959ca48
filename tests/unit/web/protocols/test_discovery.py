"""Agent-skills discovery: indexes of the registry, of namespaces and of single skills."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.clocks import ManualClock
from tests.unit.web.api_cast import Registry, open_registry, token_of
from tests.unit.web.pages_cast import FILES, change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import TakenDown, Yank
from vskill_platform.model.user import Role, Scope
from vskill_platform.publish.moderation.block_skill import block
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import get_now
from vskill_platform.web.protocols.artifacts import parse_artifact

SLUG = "ada/notes/tidy"
INDEX = "/.well-known/agent-skills/index.json"
LEGACY = "/.well-known/skills"


async def entries(registry: Registry, scope: str, **options: Any) -> list[dict[str, Any]]:
    answer = await registry.get(f"{scope}{INDEX}", **options)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["skills"]
    return found


async def names(registry: Registry, scope: str, **options: Any) -> list[str]:
    return [entry["name"] for entry in await entries(registry, scope, **options)]


@pytest.mark.parametrize("scope", ["/n/ada", "/n/ada/notes", f"/s/{SLUG}", f"/s/{SLUG}@1.0.0"])
async def test_the_digest_in_an_index_is_that_of_the_zip(
    registry: Registry, tmp_path: Path, scope: str
) -> None:
    await put_skill(registry.env, tmp_path)

    (entry,) = await entries(registry, scope)
    artifact = await registry.get(entry["url"])

    assert entry["name"] == "tidy"
    assert entry["type"] == "archive"
    assert entry["digest"] == f"sha256:{hashlib.sha256(artifact.content).hexdigest()}"


async def test_the_root_index_has_only_as_many_skills_as_the_setting_says(
    bound: WorkerEnv, tmp_path: Path
) -> None:
    async with open_registry(with_setting(bound, 2)) as registry:
        for name in ("one", "two", "three"):
            await put_skill(bound, tmp_path, f"@ada/{name}")

        assert len(await names(registry, "")) == 2


async def test_no_root_index_if_the_setting_is_zero(bound: WorkerEnv) -> None:
    async with open_registry(with_setting(bound, 0)) as registry:
        assert (await registry.get(INDEX)).status_code == 404


def with_setting(env: WorkerEnv, skills: int) -> WorkerEnv:
    return replace(env, settings=msgspec.structs.replace(env.settings, discovery_skills=skills))


async def test_the_index_of_a_namespace_has_each_name_once(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, "ada/notes/tidy")
    await put_skill(registry.env, tmp_path, "ada/other/tidy")
    await put_skill(registry.env, tmp_path, "adam/notes/else")
    await put_skill(registry.env, tmp_path, "ada/notes/Not_Allowed")

    assert await names(registry, "/n/ada") == ["tidy"]
    assert (await entries(registry, "/n/ada"))[0]["url"] == "/artifacts/ada/notes/tidy/1.0.0.zip"
    assert await names(registry, "/n/ada/other") == ["tidy"]


async def test_a_url_may_name_a_version_and_what_find_prints(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)
    await put_skill(registry.env, tmp_path, files={**FILES, "b.md": "b"})

    latest = await entries(registry, f"/s/{SLUG}@tidy")
    older = await entries(registry, f"/s/{SLUG}@1.0.0")
    zipped = await entries(registry, f"/artifacts/{SLUG}/1.0.0.zip")
    other = await registry.get(f"/s/{SLUG}@else{INDEX}")

    assert latest[0]["url"].endswith("/1.0.1.zip")
    assert older == zipped
    assert older[0]["url"].endswith("/1.0.0.zip")
    assert other.status_code == 404


async def test_a_private_skill_is_listed_for_members_with_a_signed_url(
    registry: Registry, tmp_path: Path, clock: ManualClock
) -> None:
    await put_skill(registry.env, tmp_path, "@acme/demo", is_private=True)
    member = await token_of(Role.PUBLISHER, Scope.READ, name="ada")
    await add_owner("@acme", "ada", actor="test")
    token = member["Authorization"].removeprefix("Bearer ")

    (entry,) = await entries(registry, "/n/@acme", headers=member)
    by_path = await entries(registry, f"/t/{token}/s/@acme/demo")
    kept = [
        (await registry.get(f"{place}/n/@acme{INDEX}", headers=who)).headers["cache-control"]
        for place, who in (("", member), (f"/t/{token}", {}), ("", {}))
    ]
    artifact = await registry.get(entry["url"])
    other_version = await registry.get(entry["url"].replace("1.0.0", "1.0.1"))
    clock.advance(minutes=21)
    late = await registry.get(entry["url"])

    assert await names(registry, "/n/@acme") == []
    assert (await registry.get(f"/s/@acme/demo{INDEX}")).status_code == 404
    assert by_path == [entry]
    assert kept == ["private, no-cache", "private, no-cache", "no-cache"]
    assert token not in entry["url"]
    assert artifact.status_code == 200
    assert other_version.status_code == late.status_code == 404


async def test_a_signed_url_does_not_open_what_was_taken_down(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, "@acme/demo", is_private=True)
    (entry,) = await entries(registry, "/s/@acme/demo", headers=await token_of(Role.ADMIN))
    down = TakenDown(reason="it steals", by="cyd", at=get_now())
    await change_skill(registry.env, "@acme/demo", down=down)

    assert (await registry.get(entry["url"])).status_code == 403


@pytest.mark.parametrize("role", [Role.PUBLISHER, Role.ADMIN])
async def test_a_token_in_a_path_can_only_read(registry: Registry, role: Role) -> None:
    strong = await token_of(role, Scope.READ, Scope.SUBMIT)
    text = strong["Authorization"].removeprefix("Bearer ")

    answer = await registry.get(f"/t/{text}/n/@acme{INDEX}")

    assert answer.status_code == 401
    assert "scope read" in answer.text
    assert text not in answer.text


@pytest.mark.parametrize("path", ["/account", "/api/v1/skills", "/skills/@acme/demo", "/", ""])
async def test_a_token_in_a_path_opens_nothing_else(registry: Registry, path: str) -> None:
    member = await token_of(Role.ADMIN, Scope.READ)
    text = member["Authorization"].removeprefix("Bearer ")

    answer = await registry.get(f"/t/{text}{path}")

    assert answer.status_code == 404
    assert text not in answer.text


async def test_a_wrong_token_in_a_path_is_refused_without_repeating_it(registry: Registry) -> None:
    answer = await registry.get(f"/t/vsk_wrong/n/@acme{INDEX}")

    assert answer.status_code == 401
    assert "vsk_wrong" not in answer.text


async def test_blocked_and_yanked_skills_are_not_listed(registry: Registry, tmp_path: Path) -> None:
    skill = await put_skill(registry.env, tmp_path, "@acme/blocked")
    await put_skill(registry.env, tmp_path, "@acme/yanked", files={**FILES, "b.md": "b"})
    assert await names(registry, "/n/@acme") == ["blocked", "yanked"]
    yank = Yank(number=1, reason="old", by="ada", at=get_now())
    await change_skill(registry.env, "@acme/yanked", yanked=(yank,), version="")
    await block(BlockSubject(BlockKind.DIGEST, skill.digest), reason="it steals", actor="cyd")

    assert await names(registry, "/n/@acme") == []
    assert (await registry.get(f"/s/@acme/blocked{INDEX}")).status_code == 403
    assert (await registry.get(f"/s/@acme/yanked{INDEX}")).status_code == 404


async def test_an_unchanged_index_is_not_sent_again(registry: Registry, tmp_path: Path) -> None:
    for number in range(12):
        await put_skill(registry.env, tmp_path, f"@ada/skill-{number}")
    await registry.get(f"/n/@ada{INDEX}")

    first = await registry.get(f"/n/@ada{INDEX}")
    again = await registry.get(f"/n/@ada{INDEX}", headers={"If-None-Match": first.headers["etag"]})
    await put_skill(registry.env, tmp_path, "@ada/new")
    changed = await registry.get(
        f"/n/@ada{INDEX}", headers={"If-None-Match": first.headers["etag"]}
    )

    assert first.headers["content-encoding"] == "gzip"
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert changed.status_code == 200
    assert len(changed.json()["skills"]) == 13


async def test_older_clients_get_the_list_of_files_and_each_file(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path)

    for scope in ("", "/n/ada", f"/s/{SLUG}"):
        listed = (await registry.get(f"{scope}{LEGACY}/index.json")).json()
        manifest = await registry.get(f"{scope}{LEGACY}/tidy/SKILL.md")
        inner = await registry.get(f"{scope}{LEGACY}/tidy/scripts%2Frun.py")
        missing = await registry.get(f"{scope}{LEGACY}/tidy/scripts/none.py")
        other = await registry.get(f"{scope}{LEGACY}/else/SKILL.md")

        assert listed["skills"][0]["files"] == ["SKILL.md", "scripts/run.py"]
        assert manifest.text == FILES["SKILL.md"]
        assert inner.text == FILES["scripts/run.py"]
        assert missing.status_code == other.status_code == 404


async def test_a_browser_is_sent_to_the_page_of_the_skill(registry: Registry) -> None:
    answer = await registry.get("/s/@acme/demo")

    assert answer.status_code == 302
    assert answer.headers["location"] == "/skills/@acme/demo"


async def test_find_names_the_url_to_add(registry: Registry, tmp_path: Path) -> None:
    await put_skill(registry.env, tmp_path, "@acme/demo")
    await put_skill(registry.env, tmp_path, "@acme/hidden-demo", is_private=True)

    found = (await registry.get("/api/search?q=demo&limit=10")).json()["skills"]
    of_owner = (await registry.get("/api/search?q=demo&owner=acme")).json()["skills"]
    of_other = (await registry.get("/api/search?q=demo&owner=else")).json()["skills"]

    assert [(item["name"], item["source"]) for item in found] == [
        ("demo", "http://registry/s/@acme/demo")
    ]
    assert of_owner == found
    assert of_other == []


@pytest.mark.parametrize("path", ["/n/", "/s/", f"/n{INDEX}", f"/s{INDEX}", "/n/x/.well-known/y"])
async def test_other_paths_are_not_found(registry: Registry, path: str) -> None:
    assert (await registry.get(path)).status_code == 404


def test_the_address_of_an_artifact_is_split_at_its_version() -> None:
    assert parse_artifact("/@acme/demo/1.0.0.zip") == ("@acme/demo", "1.0.0")
