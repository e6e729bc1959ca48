"""Following the repository of a skill: who may, what is stored, and how to stop."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill
from tests.git_server import GitServer
from tests.unit.web.api_cast import Registry, audited, browser_of, open_registry, token_of
from tests.unit.web.pages_cast import put_skill
from vskill_platform.access.namespaces import add_owner
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role, Scope
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    find_followed_in,
    get_followed_repo,
    list_due_followed_repos,
    write_followed_repo,
)
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.submission_store import get_submission, write_submission

pytestmark = pytest.mark.usefixtures("one_loop")
WHERE = "/api/v1/skills/ada/notes/tidy/register-tracking"
ALL = "/api/v1/followed-repos"
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
    assert await list_due_followed_repos(get_now(), limit=10) == [stored.record.name]
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


async def test_a_stranger_cannot_change_the_branch_that_another_user_follows(
    registry: Registry,
) -> None:
    ben, eve = await token_of(Role.READER, name="ben"), await token_of(Role.READER, name="eve")
    await publish_from_repo(registry, "ada/notes/tidy", "tidy")
    await registry.post(WHERE, json={}, headers=ben)

    one = await registry.post(WHERE, json={"branch": "old"}, headers=eve)
    all_of_it = await registry.post(ALL, json={"repoUrl": REPO, "branch": "old"}, headers=eve)

    assert one.status_code == 403
    assert "ben follows" in one.json()["detail"]
    assert [item["slug"] for item in all_of_it.json()["followed"]] == [""]
    stored = await get_followed_repo("ada/notes/tidy")
    assert stored
    assert (stored.record.by, stored.record.ref) == ("ben", "")


async def test_the_user_who_follows_and_reviewers_and_owners_change_the_branch(
    registry: Registry,
) -> None:
    ben, rae = await token_of(Role.READER, name="ben"), await token_of(Role.REVIEWER, name="rae")
    ada = await token_of(Role.PUBLISHER, name="ada")
    await registry.post(WHERE, json={}, headers=ben)

    own = await registry.post(WHERE, json={"branch": "one"}, headers=ben)
    reviewer = await registry.post(WHERE, json={"branch": "two"}, headers=rae)
    await add_owner("ada", "ada", actor="test")
    owner = await registry.post(WHERE, json={"branch": "three"}, headers=ada)

    assert [one.status_code for one in (own, reviewer, owner)] == [200, 200, 200]


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


async def put_followed(by: str, count: int, **fields: Any) -> None:
    """Store repositories that a user follows."""
    now = get_now()
    repos = [
        FollowedRepo(slug="", repo_url=f"https://github.com/x/{n}", by=by, at=now, **fields)
        for n in range(count)
    ]
    assert await commit([write_followed_repo(one, due=now) for one in repos])


async def test_a_user_follows_a_hundred_repos_in_total(registry: Registry) -> None:
    ben = await token_of(Role.READER, name="ben")
    await publish_from_repo(registry, "ada/notes/tidy", "tidy")
    await put_followed("ben", 100)

    one = await registry.post(WHERE, json={}, headers=ben)
    whole = await registry.post(ALL, json={"repoUrl": REPO}, headers=ben)
    known = await registry.post(ALL, json={"repoUrl": "x/7"}, headers=ben)
    await registry.ask("DELETE", ALL, params={"repoUrl": "x/7"}, headers=ben)
    room = await registry.post(ALL, json={"repoUrl": REPO}, headers=ben)
    again = await registry.post(WHERE, json={}, headers=ben)

    found = [answer.status_code for answer in (one, whole, known, room, again)]
    assert found == [403, 403, 200, 200, 200]
    assert "you follow 100 repositories, the maximum; stop following one" in one.json()["detail"]


async def test_a_user_pages_through_everything_that_they_follow(registry: Registry) -> None:
    ben = await token_of(Role.READER, name="ben")
    await put_followed("ben", 5)

    first = await registry.json("/followed-repos?limit=3", headers=ben)
    rest = await registry.json(f"/followed-repos?limit=3&cursor={first['nextCursor']}", headers=ben)

    assert [len(first["followed"]), len(rest["followed"]), rest["nextCursor"]] == [3, 2, None]
    found = [one["repoUrl"][-1] for one in first["followed"] + rest["followed"]]
    assert found == ["0", "1", "2", "3", "4"]


async def test_staff_and_repos_that_are_not_checked_are_outside_of_that_limit(
    registry: Registry,
) -> None:
    rae, ben = await token_of(Role.REVIEWER, name="rae"), await token_of(Role.READER, name="ben")
    dan = await token_of(Role.READER, name="dan")
    await put_followed("rae", 100)
    by_reviewer = await registry.post(WHERE, json={}, headers=rae)
    await put_followed("ben", 100, stopped_at=get_now())
    by_ben = await registry.post(ALL, json={"repoUrl": REPO}, headers=ben)
    await put_followed("dan", 100, is_by_operator=True)
    by_dan = await registry.post(ALL, json={"repoUrl": "ada/other"}, headers=dan)

    assert [one.status_code for one in (by_reviewer, by_ben, by_dan)] == [200, 200, 200]


async def publish_from_repo(registry: Registry, slug: str, path: str, **fields: bool) -> None:
    """Publish a skill together with the submission that it came from."""
    made = await submit(git_source(REPO, path), submitter="ada")
    stored = await get_submission(made.submission.id)
    assert stored
    ended = msgspec.structs.replace(stored.record, state=SubmissionState.PUBLISHED, slug=slug)
    skill = a_published_skill(slug, repo_url=REPO, submission_id=ended.id, **fields)
    known = await get_skill(slug)
    put = write_skill(skill, expected=known.revision if known else 0)
    assert await commit([*write_submission(ended, [], expected=stored.revision), put])


async def test_a_repo_is_followed_for_every_skill_that_the_user_may_submit(
    registry: Registry,
) -> None:
    ben, dan = await token_of(Role.READER, name="ben"), await token_of(Role.READER, name="dan")
    await publish_from_repo(registry, "ada/notes/tidy", "tidy")
    await publish_from_repo(registry, "ada/notes/second", "second")
    await publish_from_repo(registry, "ada/notes/secret", "secret", is_private=True)

    made = await registry.post(ALL, json={"repoUrl": "Ada/Notes", "branch": "main"}, headers=ben)
    other = await registry.ask("DELETE", ALL, params={"repoUrl": "ada/notes"}, headers=dan)
    ended = await registry.ask("DELETE", ALL, params={"repoUrl": "ada/notes"}, headers=ben)

    assert made.status_code == 200, made.text
    found = [(one["slug"], one["branch"], one["status"]) for one in made.json()["followed"]]
    assert found == [
        ("", "main", "following"),
        ("ada/notes/second", "main", "following"),
        ("ada/notes/tidy", "main", "following"),
    ]
    assert (other.status_code, ended.status_code) == (404, 200)
    assert len(ended.json()["followed"]) == 3
    assert await find_followed_in(REPO) == []


async def test_a_repo_in_a_namespace_of_others_cannot_be_followed(registry: Registry) -> None:
    await token_of(Role.PUBLISHER, name="ada")
    await publish_from_repo(registry, "ada/notes/tidy", "tidy")
    await add_owner("ada", "ada", actor="test")
    ben = await token_of(Role.READER, name="ben")

    owned = await registry.post(ALL, json={"repoUrl": "ada/notes"}, headers=ben)
    local = await registry.post(ALL, json={"repoUrl": "file:///etc/x"}, headers=ben)
    anonymous = await registry.post(ALL, json={"repoUrl": "ada/notes"})

    found = [answer.status_code for answer in (owned, local, anonymous)]
    assert found == [403, 400, 401]
    assert await find_followed_in(REPO) == []


async def test_the_page_follows_shows_and_stops(registry: Registry) -> None:
    await publish_from_repo(registry, "ada/notes/tidy", "tidy")
    ada = await browser_of(Role.PUBLISHER, name="ada")

    empty = await registry.get("/account/repos", headers=ada)
    made = await registry.post("/account/repos/follow", data={"repo": "ada/notes"}, headers=ada)
    page = await registry.get("/account/repos", headers=ada)
    wrong = await registry.post("/account/repos/follow", data={"repo": "file:///x"}, headers=ada)
    stopped = await registry.post("/account/repos/stop", data={"repo": REPO}, headers=ada)

    assert "You follow no repository" in empty.text
    assert [one.status_code for one in (made, wrong, stopped)] == [303, 303, 303]
    assert "1%20published%20skill" in made.headers["set-cookie"]
    assert "all, and new ones" in page.text
    assert "/skills/ada/notes/tidy" in page.text
    assert "problem:" in wrong.headers["set-cookie"]
    assert await find_followed_in(REPO) == []


async def test_a_token_that_sees_no_private_skills_gets_no_name_of_one(
    registry: Registry, tmp_path: Path
) -> None:
    await put_skill(registry.env, tmp_path, is_private=True)
    ada = await token_of(Role.PUBLISHER, Scope.READ, Scope.SUBMIT, name="ada")
    less = await token_of(Role.PUBLISHER, Scope.SUBMIT, name="ada")
    await add_owner("ada", "ada", actor="test")
    await registry.post(WHERE, json={}, headers=ada)

    hidden = await registry.ask("DELETE", ALL, params={"repoUrl": REPO}, headers=less)
    ended = await registry.ask("DELETE", ALL, params={"repoUrl": REPO}, headers=ada)

    assert hidden.status_code == 404
    assert [one["slug"] for one in ended.json()["followed"]] == ["ada/notes/tidy"]


async def test_what_a_token_without_the_rights_of_staff_follows_has_none_either(
    registry: Registry,
) -> None:
    less = await token_of(Role.REVIEWER, Scope.READ, Scope.SUBMIT)
    full = await token_of(Role.REVIEWER)
    found = []
    for who in (less, full, less):
        await registry.post(WHERE, json={}, headers=who)
        stored = await get_followed_repo("ada/notes/tidy")
        found.append(stored is not None and stored.record.is_by_staff)
    await registry.post(WHERE, json={"branch": "other"}, headers=less)
    stored = await get_followed_repo("ada/notes/tidy")

    assert found == [False, True, True]
    assert stored
    assert (stored.record.ref, stored.record.is_by_staff) == ("other", False)
