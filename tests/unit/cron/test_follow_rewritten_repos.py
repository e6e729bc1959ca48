"""Followed repositories whose history, branches, tags or owner change, with a real git server."""

import shutil
from pathlib import Path

import pytest

from tests.clocks import ManualClock
from tests.repos import a_repo, commit_all, git
from tests.unit.cron.test_follow_repos import (
    LATER,
    PATH,
    change_skill,
    end,
    followed,
    is_due,
    publish,
    submitted,
)
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.model.source import Source, git_source
from vskill_platform.stores.followed_repo_store import FollowStatus
from vskill_platform.stores.submission_store import get_source_owner


@pytest.fixture
async def source(repo_url: str, repo: Path) -> Source:
    """A skill that is published from its first commit, and Ada, who follows its repository."""
    source = git_source(repo_url, PATH)
    await publish(source, repo)
    return source


async def check(clock: ManualClock) -> FollowStatus:
    """Run the next check; return the status of the skill after it."""
    clock.advance(**LATER)
    await follow_repos()
    return (await followed()).record.status


async def test_a_rewritten_history_is_submitted_if_it_changes_the_skill(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    git(repo, "checkout", "--quiet", "--orphan", "other")
    change_skill(repo)
    git(repo, "branch", "--quiet", "--move", "--force", "other", "main")
    await check(clock)
    rewritten = len(await submitted(source))
    await end(source, repo)

    git(repo, "commit", "--quiet", "--amend", "--message=the same files")
    status = await check(clock)

    assert (rewritten, len(await submitted(source))) == (1, 1)
    assert status is FollowStatus.FOLLOWING


async def test_the_default_branch_is_followed_under_its_new_name(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    git(repo, "branch", "--quiet", "--move", "main", "trunk")
    change_skill(repo)

    status = await check(clock)

    assert (status, len(await submitted(source))) == (FollowStatus.FOLLOWING, 1)


async def test_a_problem_is_forgotten_when_it_is_over_although_there_is_no_new_commit(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await check(clock)
    head = repo / ".git/HEAD"
    before = head.read_text()
    head.write_text("ref: refs/heads/nowhere\n")
    broken = await check(clock)

    head.write_text(before)
    mended = await check(clock)

    assert (broken, mended) == (FollowStatus.FAILING, FollowStatus.FOLLOWING)
    assert await submitted(source) == []


async def test_a_folder_that_left_is_still_reported_after_an_outage(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    git(repo, "mv", PATH, "moved")
    commit_all(repo)
    await check(clock)
    shutil.move(repo / ".git", repo / "away")
    missing = await check(clock)
    shutil.move(repo / "away", repo / ".git")

    back = await check(clock)

    assert (missing, back) == (FollowStatus.MISSING, FollowStatus.FAILING)
    assert "no longer in the repository" in (await followed()).record.problem


async def test_newer_tags_are_submitted_although_the_published_one_was_deleted(
    repo_url: str, repo: Path, clock: ManualClock
) -> None:
    git(repo, "tag", "v1.0.0")
    await publish(git_source(repo_url, PATH, ref="v1.0.0"), repo)
    await check(clock)
    git(repo, "tag", "--delete", "v1.0.0")
    deleted = await check(clock)
    problem = (await followed()).record.problem

    change_skill(repo)
    git(repo, "tag", "v1.1.0")
    await check(clock)

    assert (deleted, problem) == (FollowStatus.FAILING, "the repo has no tag 'v1.0.0' any more")
    assert await get_source_owner(git_source(repo_url, PATH, ref="v1.1.0"))


@pytest.mark.parametrize(
    ("days", "is_same", "status"),
    [
        (2, True, FollowStatus.FOLLOWING),
        (2, False, FollowStatus.STOPPED),
        (0, False, FollowStatus.FOLLOWING),
    ],
)
async def test_a_repo_that_is_back_after_a_day_with_other_commits_may_be_somebody_elses(
    source: Source, repo: Path, clock: ManualClock, days: int, is_same: bool, status: FollowStatus
) -> None:
    await check(clock)
    shutil.move(repo / ".git", repo.with_name("away"))
    assert await check(clock) is FollowStatus.MISSING
    if is_same:
        shutil.move(repo.with_name("away"), repo / ".git")
    else:
        (repo / PATH / "more.md").write_text("by a stranger")
        a_repo(repo)
    clock.advance(days=days)

    back = await check(clock)

    assert back is status
    assert len(await submitted(source)) == (0 if days else 1)
    assert await is_due() is False
    if status is FollowStatus.STOPPED:
        assert "make sure that it is still yours" in (await followed()).record.problem


@pytest.mark.parametrize("is_tag", [False, True])
async def test_old_commits_do_not_prove_that_a_repo_that_is_back_belongs_to_the_same_people(
    source: Source, repo: Path, clock: ManualClock, is_tag: bool
) -> None:
    await check(clock)
    shutil.move(repo / ".git", repo.with_name("away"))
    await check(clock)
    shutil.move(repo.with_name("away"), repo / ".git")  # as a stranger with a clone could
    clock.advance(days=2)
    same = await check(clock)

    if is_tag:
        git(repo, "checkout", "--quiet", "-b", "other")
    change_skill(repo, "by a stranger")
    if is_tag:
        git(repo, "tag", "v9.0.0")
        git(repo, "checkout", "--quiet", "main")
    other = await check(clock)

    assert (same, other) == (FollowStatus.FOLLOWING, FollowStatus.STOPPED)
    assert await submitted(source) == []
    assert await get_source_owner(git_source(source.url, PATH, ref="v9.0.0")) is None


async def test_a_tag_in_a_repo_that_is_back_with_the_same_commit_is_not_submitted(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await check(clock)
    shutil.move(repo / ".git", repo.with_name("away"))
    await check(clock)
    shutil.move(repo.with_name("away"), repo / ".git")
    git(repo, "checkout", "--quiet", "-b", "other")
    change_skill(repo, "by a stranger")
    git(repo, "tag", "v9.0.0")
    git(repo, "checkout", "--quiet", "main")
    clock.advance(days=2)

    assert await check(clock) is FollowStatus.STOPPED
    assert await get_source_owner(git_source(source.url, PATH, ref="v9.0.0")) is None


async def test_an_empty_repo_does_not_end_the_absence(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await check(clock)
    shutil.rmtree(repo / ".git")
    await check(clock)
    git(repo, "init", "--quiet", "--initial-branch=main")
    clock.advance(days=2)
    await check(clock)

    (repo / PATH / "more.md").write_text("by a stranger")
    commit_all(repo)
    clock.advance(days=1)

    assert await check(clock) is FollowStatus.STOPPED
    assert await submitted(source) == []
