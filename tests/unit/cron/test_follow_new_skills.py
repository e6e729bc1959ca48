"""Repositories that are followed as a whole: their new skills are submitted and followed."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.casts import a_published_skill, a_skill_folder
from tests.clocks import ManualClock
from tests.git_server import GitServer
from tests.people import a_user
from tests.repos import commit_all
from vskill_platform.access.users import disable_user
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.intake.follow_repo import follow_whole_repo, unfollow_repo
from vskill_platform.model.policy import Policy, PolicyLimits
from vskill_platform.model.source import Source, git_source
from vskill_platform.model.submission import Submission, SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.db import bound_env, commit
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    FollowStatus,
    find_followed_in,
    get_followed_repo,
)
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.source_submissions import list_submission_ids_of
from vskill_platform.stores.submission_store import (
    get_source_owner,
    get_submission,
    read_submissions,
    write_submission,
)

SLUG = "ada/notes/tidy-notes"
#: Longer than the time until the next check.
LATER = {"minutes": 61}


@pytest.fixture
async def source(repo_url: str) -> Source:
    """A repository with one skill, which Ada follows as a whole."""
    source = git_source(repo_url)
    await follow_whole_repo(source.url, actor="ada")
    return source


def add_skill(repo: Path, name: str) -> str:
    a_skill_folder(repo / "skills", name=name)
    return commit_all(repo)


async def submissions(source: Source) -> list[Submission]:
    submission_ids = await list_submission_ids_of(source.url, limit=100)
    found = (await read_submissions(submission_ids)).values()
    return sorted(found, key=lambda one: one.source.path)


async def submitted(source: Source) -> list[str]:
    return [one.source.path for one in await submissions(source)]


async def publish(source: Source, slug: str, *, is_private: bool = False) -> None:
    """End the processing of the first skill, as a worker would."""
    path = "skills/tidy-notes"
    owner = await get_source_owner(msgspec.structs.replace(source, path=path))
    stored = await get_submission(owner or "")
    assert stored
    ended = msgspec.structs.replace(stored.record, state=SubmissionState.PUBLISHED, slug=slug)
    skill = a_published_skill(
        slug, repo_url=source.url, submission_id=ended.id, is_private=is_private
    )
    written = write_submission(ended, [], expected=stored.revision)
    assert await commit([*written, write_skill(skill, expected=0)])


async def whole(source: Source) -> FollowedRepo:
    stored = await get_followed_repo(source.url)
    assert stored
    return stored.record


async def test_the_skills_that_are_in_it_are_submitted_in_the_name_of_the_user(
    source: Source,
) -> None:
    outcome = await follow_repos()

    assert outcome == "1 of 1 repo checked, 1 submitted, 0 failed"
    assert [(one.source.path, one.submitter) for one in await submissions(source)] == [
        ("skills/tidy-notes", "ada")
    ]
    assert (await whole(source)).status is FollowStatus.FOLLOWING


async def test_a_skill_that_is_added_later_is_submitted_once(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await follow_repos()
    sha = add_skill(repo, "sort-notes")
    clock.advance(**LATER)

    first = await follow_repos()
    clock.advance(**LATER)
    second = await follow_repos()

    assert (first, second) == (
        "1 of 1 repo checked, 1 submitted, 0 failed",
        "1 of 1 repo checked, 0 submitted, 0 failed",
    )
    assert await submitted(source) == ["skills/sort-notes", "skills/tidy-notes"]
    assert (await whole(source)).commit_sha == sha


async def test_an_invalid_skill_is_left_out(source: Source, repo: Path) -> None:
    (repo / "skills" / "broken").mkdir()
    (repo / "skills" / "broken" / "SKILL.md").write_text("no frontmatter")
    commit_all(repo)

    await follow_repos()

    assert await submitted(source) == ["skills/tidy-notes"]


async def test_a_skill_is_followed_once_it_is_published(source: Source, clock: ManualClock) -> None:
    await follow_repos()
    await publish(source, SLUG)
    clock.advance(**LATER)

    await follow_repos()

    followed = await get_followed_repo(SLUG)
    assert followed
    assert (followed.record.by, followed.record.repo_url) == ("ada", source.url)
    assert (await whole(source)).skills == (SLUG,)


async def test_the_first_change_after_the_publication_is_submitted_in_the_same_run(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await follow_repos()
    await publish(source, SLUG)
    (repo / "skills/tidy-notes/more.md").write_text("more")
    commit_all(repo)
    clock.advance(**LATER)

    said = await follow_repos()

    assert said == "2 of 2 repos checked, 1 submitted, 0 failed"
    assert await follow_repos() == "0 of 0 repos checked, 0 submitted, 0 failed"


async def test_a_skill_that_somebody_stopped_following_is_not_followed_again(
    source: Source, clock: ManualClock
) -> None:
    await follow_repos()
    await publish(source, SLUG)
    clock.advance(**LATER)
    await follow_repos()
    await unfollow_repo(SLUG, actor="ada")
    clock.advance(**LATER)

    await follow_repos()

    assert [one.name for one in await find_followed_in(source.url)] == [source.url]


async def test_a_new_skill_beside_a_private_one_is_private(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await follow_repos()
    await publish(source, SLUG, is_private=True)
    add_skill(repo, "sort-notes")
    clock.advance(**LATER)

    await follow_repos()

    found = {one.source.path: one.is_private for one in await submissions(source)}
    assert found["skills/sort-notes"] is True


async def test_a_disabled_user_submits_nothing_and_the_record_says_why(source: Source) -> None:
    await a_user(Role.ADMIN, "grace")
    await disable_user("ada", actor="grace")

    await follow_repos()

    record = await whole(source)
    assert (record.status, await submitted(source)) == (FollowStatus.STOPPED, [])
    assert record.problem == "the account ada is disabled or no longer exists"


async def test_skills_beyond_the_daily_limit_are_submitted_later(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    add_skill(repo, "sort-notes")
    limited = replace(bound_env(), policy=Policy(limits=PolicyLimits(submissions_per_day=1)))
    token = worker_env_storage.set(limited)
    await follow_repos()
    today = (await submitted(source), (await whole(source)).status)

    clock.advance(days=1, hours=1)
    await follow_repos()
    worker_env_storage.reset(token)

    assert today == (["skills/sort-notes"], FollowStatus.FAILING)
    assert await submitted(source) == ["skills/sort-notes", "skills/tidy-notes"]
    assert (await whole(source)).status is FollowStatus.FOLLOWING


async def test_a_missing_repo_is_reported_and_tried_again(
    source: Source, git_server: GitServer
) -> None:
    gone = git_source(f"{git_server.url}/ada/gone")
    await follow_whole_repo(gone.url, actor="ada")

    await follow_repos()

    record = await whole(gone)
    assert (record.status, record.failures) == (FollowStatus.MISSING, 1)
