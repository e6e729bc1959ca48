"""Deleting over the API and on pages: who may, and what others see afterwards."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from tests.unit.web.admin_cast import Operator
from tests.unit.web.api_cast import Registry, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import FILES, change_skill, put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.user import DeletedNamespace, Role, Scope
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.namespace_store import get_namespace, write_namespace
from vskill_platform.stores.skill_store import get_skill

SLUG = "ada/notes/tidy"

pytestmark = pytest.mark.usefixtures("one_loop")


@pytest.fixture
async def registry(bound: WorkerEnv, tmp_path: Path) -> AsyncIterator[Registry]:
    await put_skill(bound, tmp_path)
    async with open_registry(bound) as opened:
        yield opened


async def test_owners_and_admins_delete_and_then_it_is_gone_everywhere(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ada")
    rae = await token_of(Role.REVIEWER, name="rae")
    await add_owner("ada", "ada", actor="test")
    path, body = f"/api/v1/skills/{SLUG}", {"reason": "a mistake"}

    reviewer = await registry.post(f"{path}/delete", json=body, headers=rae)
    unsaid = await registry.post(f"{path}/delete", json={"reason": ""}, headers=ada)
    preview = await registry.get(f"{path}/deletion", headers=ada)
    still = await get_skill(SLUG)
    done = await registry.post(f"{path}/delete", json=body, headers=ada)
    twice = await registry.post(f"{path}/delete", json=body, headers=ada)
    answers = {
        place: await registry.get(place)
        for place in (
            path,
            f"{path}/download",
            f"{path}/versions",
            f"/skills/{SLUG}",
            f"/s/{SLUG}/.well-known/agent-skills/index.json",
            f"/artifacts/{SLUG}/1.0.0.zip",
            f"/apm/v1/packages/{SLUG}/versions",
            f"/git/{SLUG}.git/info/refs?service=git-upload-pack",
        )
    }
    found = await registry.json("/skills/search?q=tidy")

    assert (reviewer.status_code, unsaid.status_code) == (403, 400)
    assert preview.json()["versions"] == ["1.0.0"]
    assert preview.json()["refused"] is None
    assert still
    assert (done.status_code, done.json()["slug"]) == (200, SLUG)
    assert (twice.status_code, twice.json()["code"]) == (410, "deleted")
    for place, answer in answers.items():
        # git asks for a password wherever there is nothing to see.
        gone = {401} if place.startswith("/git/") else {404, 410}
        assert answer.status_code in gone, place
    assert answers[path].status_code == answers[f"/skills/{SLUG}"].status_code == 410
    assert "a mistake" in answers[path].text
    assert found["results"] == []


async def test_a_private_skill_leaves_no_trace_for_strangers(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ada")
    await add_owner("ada", "ada", actor="test")
    await change_skill(registry.env, SLUG, is_private=True)
    path = f"/api/v1/skills/{SLUG}"

    done = await registry.post(f"{path}/delete", json={"reason": "secret"}, headers=ada)
    stranger = await registry.get(path)
    page = await registry.get(f"/skills/{SLUG}")
    owner = await registry.get(path, headers=ada)

    assert done.status_code == 200
    assert (stranger.status_code, page.status_code, owner.status_code) == (404, 404, 410)
    assert "secret" not in stranger.text + page.text


async def test_the_page_shows_what_goes_and_asks_for_the_name(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path / "more", files={**FILES, "more.md": "more"})
    ada = Operator(registry, await browser_of(Role.PUBLISHER, name="ada"))
    await add_owner("ada", "ada", actor="test")
    path = f"/admin/delete/{SLUG}"

    managed = await ada.see(f"/admin/skills/{SLUG}")
    shown = await ada.see(path)
    unsure = await ada.post(path, reason="a mistake", confirm="yes")
    one = await ada.post(path, reason="a mistake", confirm=SLUG, version="1.0.0")
    version = await registry.get(f"/api/v1/skills/{SLUG}?version=1.0.0")
    done = await ada.post(path, reason="a mistake", confirm=SLUG)

    assert f'method="get" action="/admin/delete/{SLUG}"' in managed
    assert '<option value="1.0.1">Only 1.0.1</option>' in managed
    assert "2 versions: 1.0.0, 1.0.1" in shown
    assert (unsure.status_code, f"To confirm, type {SLUG}." in unsure.text) == (400, True)
    assert (one.status_code, version.status_code) == (303, 410)
    assert (done.status_code, done.headers["location"]) == (303, f"/skills/{SLUG}")
    assert await get_skill(SLUG) is None


async def test_a_namespace_is_deleted_over_the_api_by_its_owner(registry: Registry) -> None:
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ada")
    ben = await token_of(Role.PUBLISHER, Scope.READ, Scope.MANAGE, name="ben")
    await add_owner("ada", "ada", actor="test")
    path, body = "/api/v1/namespaces", {"namespace": "ada", "reason": "we moved"}

    stranger = await registry.post(f"{path}/delete", json=body, headers=ben)
    preview = await registry.get(f"{path}/deletion?namespace=ada", headers=ada)
    done = await registry.post(f"{path}/delete", json=body, headers=ada)
    again = await registry.post(f"{path}/delete", json=body, headers=ada)

    assert (stranger.status_code, again.status_code) == (403, 403)
    assert preview.json()["skills"] == [{"slug": SLUG, "versions": 1, "installs": 0}]
    assert (preview.json()["refused"], preview.json()["owners"]) == (None, ["ada"])
    assert (done.status_code, done.json()) == (200, preview.json())
    assert (await registry.get(f"/api/v1/skills/{SLUG}")).status_code == 410


async def test_a_token_that_sees_no_private_skills_neither_lists_nor_deletes_a_namespace(
    registry: Registry,
) -> None:
    less = await token_of(Role.PUBLISHER, Scope.MANAGE, name="ada")
    await add_owner("ada", "ada", actor="test")
    path, body = "/api/v1/namespaces", {"namespace": "ada", "reason": "we moved"}

    preview = await registry.get(f"{path}/deletion?namespace=ada", headers=less)
    done = await registry.post(f"{path}/delete", json=body, headers=less)

    assert (preview.status_code, done.status_code) == (403, 403)
    assert "needs the scope read" in preview.json()["detail"]
    assert await get_skill(SLUG)


async def test_the_page_of_a_namespace_shows_what_goes_and_asks_for_its_name(
    registry: Registry,
) -> None:
    ada = Operator(registry, await browser_of(Role.PUBLISHER, name="ada"))
    cyd = Operator(registry, await browser_of(Role.ADMIN, name="cyd"))
    await add_owner("ada", "ada", actor="test")
    path = "/account/namespaces/delete"

    account = await ada.see("/account")
    shown = await ada.see(f"{path}?namespace=ada")
    unsure = await ada.post(path, namespace="ada", reason="we moved", confirm="yes")
    done = await ada.post(path, namespace="ada", reason="we moved", confirm="ada")
    listed = await cyd.see("/admin/namespaces")

    assert f'href="{path}?namespace=ada"' in account
    assert f"{SLUG}: 1 version" in shown
    assert (unsure.status_code, "To confirm, type ada." in unsure.text) == (400, True)
    assert (done.status_code, done.headers["location"]) == (303, "/account?done=namespace-deleted")
    assert await get_skill(SLUG) is None
    assert '<span class="badge warn">deleted</span>' in listed
    assert f'href="{path}?namespace=ada"' not in listed


async def test_an_admin_can_complete_a_deletion_that_was_interrupted(registry: Registry) -> None:
    cyd = Operator(registry, await browser_of(Role.ADMIN, name="cyd"))
    await add_owner("ada", "cyd", actor="test")
    stored = await get_namespace("ada")
    mark = DeletedNamespace(by="cyd", at=get_now(), reason="we moved")
    closed = msgspec.structs.replace(stored.record, deleted=mark)
    assert await commit(write_namespace(stored, closed))

    listed = await cyd.see("/admin/namespaces")

    assert 'href="/account/namespaces/delete?namespace=ada"' in listed
