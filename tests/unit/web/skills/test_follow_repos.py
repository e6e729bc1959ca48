"""Following the repository of a skill: who may, what is stored, and how to stop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, audited, open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import bound_env, get_now
from vskill_platform.stores.followed_repo_store import (
    find_followed_in,
    get_followed_repo,
    list_due_followed_repos,
)

pytestmark = pytest.mark.usefixtures("one_loop")
WHERE = "/api/v1/skills/ada/notes/tidy/register-tracking"
REPO = "https://github.com/ada/notes"


@pytest.fixture
async def registry(git_server: GitServer, tmp_path: Path) -> AsyncIterator[Registry]:
    async with open_registry(bound_env()) as opened:
        await put_skill(opened.env, tmp_path)
        yield opened


async def test_a_followed_repo_is_found_by_slug_by_repo_and_as_due(registry: Registry) -> None:
    ben = await token_of(Role.READER, name="ben")

    made = await registry.post(WHERE, json={"repoUrl": "Ada/Notes"}, headers=ben)
    again = await registry.post(WHERE, json={}, headers=ben)

    assert made.status_code == 200, made.text
    assert again.json()["followedAt"] == made.json()["followedAt"]
    stored = await get_followed_repo("ada/notes/tidy")
    assert stored
    assert (stored.record.repo_url, stored.record.by, stored.record.ref) == (REPO, "ben", "")
    assert await find_followed_in(REPO) == [stored.record]
    assert await list_due_followed_repos(get_now(), limit=10) == [stored.record]
    assert [item for item in await audited() if item[1] == "repo follow"] == [
        ("ben", "repo follow", "ada/notes/tidy")
    ]


async def test_only_the_own_repo_of_a_skill_is_followed(registry: Registry, tmp_path: Path) -> None:
    ben = await token_of(Role.READER, name="ben")
    await put_skill(registry.env, tmp_path, "@ben/tidy", repo_url="upload:@ben/tidy")

    other = await registry.post(WHERE, json={"repoUrl": "ada/other"}, headers=ben)
    local = await registry.post(WHERE, json={"repoUrl": "file:///etc"}, headers=ben)
    branch = await registry.post(WHERE, json={"branch": "--upload-pack=x"}, headers=ben)
    upload = await registry.post("/api/v1/skills/@ben/tidy/register-tracking", json={}, headers=ben)

    found = [other.status_code, local.status_code, branch.status_code, upload.status_code]
    assert found == [400, 400, 400, 400]
    assert await get_followed_repo("ada/notes/tidy") is None


async def test_following_needs_an_account_the_scope_and_the_namespace(registry: Registry) -> None:
    await token_of(Role.PUBLISHER, name="ada")
    await add_owner("ada", "ada", actor="test")
    ben, reading = await token_of(Role.READER, name="ben"), await token_of(Role.ADMIN, Scope.READ)

    assert (await registry.post(WHERE, json={})).status_code == 401
    assert (await registry.post(WHERE, json={}, headers=reading)).status_code == 403
    assert (await registry.post(WHERE, json={}, headers=ben)).status_code == 403


async def test_private_skills_of_others_cannot_be_followed(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, is_private=True)
    ben = await token_of(Role.READER, name="ben")

    assert (await registry.post(WHERE, json={}, headers=ben)).status_code == 404


async def test_the_one_who_asked_and_staff_can_stop_it(registry: Registry) -> None:
    ben, dan = await token_of(Role.READER, name="ben"), await token_of(Role.READER, name="dan")
    cyd = await token_of(Role.ADMIN)
    await registry.post(WHERE, json={}, headers=ben)

    other = await registry.ask("DELETE", WHERE, headers=dan)
    seen_by_dan = await registry.json("/followed-repos", headers=dan)
    seen_by_cyd = await registry.json("/followed-repos", headers=cyd)
    own = await registry.ask("DELETE", WHERE, headers=ben)
    gone = await registry.ask("DELETE", WHERE, headers=cyd)
    nobody = await registry.get("/api/v1/followed-repos")

    assert [other.status_code, own.status_code, gone.status_code] == [403, 200, 404]
    assert seen_by_dan["followed"] == []
    assert [item["by"] for item in seen_by_cyd["followed"]] == ["ben"]
    assert nobody.status_code == 401


async def test_a_user_follows_ten_repos_an_hour(registry: Registry, tmp_path: Path) -> None:
    ben = await token_of(Role.READER, name="ben")

    found = [(await registry.post(WHERE, json={}, headers=ben)).status_code for _ in range(11)]

    assert found == [200] * 10 + [429]
