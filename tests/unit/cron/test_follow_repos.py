"""Followed repositories with a real git server: new commits are submitted, once each."""

import asyncio
import os
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from tests.casts import a_published_skill, a_skill_folder
from tests.clocks import ManualClock
from tests.git_server import GitServer
from tests.people import a_user
from tests.repos import commit_all, git
from vskill_platform.access.namespaces import add_owner, remove_owner
from vskill_platform.access.users import disable_user
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.cron.record_repo_checks import back_off
from vskill_platform.engines.operations import Put
from vskill_platform.errors import ConfigError, DiskNearlyFull
from vskill_platform.intake.follow_repo import follow_repo, unfollow_repo
from vskill_platform.intake.submit import submit
from vskill_platform.model.namespace import namespace_of
from vskill_platform.model.policy import Policy, PolicyLimits
from vskill_platform.model.source import Source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.model.user import Role
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.settings import load_settings
from vskill_platform.stores.db import bound_env, commit, get_now
from vskill_platform.stores.followed_repo_store import (
    FollowedRepo,
    FollowStatus,
    get_followed_repo,
    list_due_followed_repos,
)
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import delete_skill_record, get_skill, write_skill
from vskill_platform.stores.submission_store import (
    get_history,
    get_source_owner,
    get_submission,
    write_submission,
)

SLUG = "ada/notes/tidy-notes"
PATH = "skills/tidy-notes"
#: Longer than the time until the next check.
LATER = {"minutes": 61}


@pytest.fixture
async def source(repo_url: str, repo: Path) -> Source:
    """A skill that is published from its first commit, and Ada, who follows its repository."""
    source = git_source(repo_url, PATH)
    await publish(source, repo)
    return source


async def publish(source: Source, repo: Path, slug: str = SLUG) -> None:
    """Publish what is in the repo now, as a worker would, and follow it."""
    made = await submit(source, submitter="ada")
    await end(source, repo)
    skill = a_published_skill(slug, repo_url=source.url, submission_id=made.submission.id)
    assert await commit([write_skill(skill, expected=0)])
    await follow_repo(skill, actor="ada")


async def end(
    source: Source, repo: Path, state: SubmissionState = SubmissionState.PUBLISHED
) -> None:
    """End the processing of what is in the repo now."""
    stored = await get_submission(await get_source_owner(source) or "")
    assert stored
    tree = git(repo, "rev-parse", f"HEAD:{source.path}")
    ended = msgspec.structs.replace(stored.record, state=state, tree_sha=tree, digest="0" * 64)
    assert await commit(write_submission(ended, [], expected=stored.revision))


def change_skill(repo: Path, text: str = "more") -> str:
    (repo / PATH / "more.md").write_text(text)
    return commit_all(repo)


async def submitted(source: Source) -> list[tuple[str, SubmissionState]]:
    """Return who submitted it again, and in which state it is since then."""
    owner = await get_source_owner(source)
    assert owner
    history = await get_history(owner)
    return [(event.actor, event.to_state) for event in history if event.trigger == "submit"][1:]


async def followed(slug: str = SLUG) -> Stored[FollowedRepo]:
    stored = await get_followed_repo(slug)
    assert stored
    return stored


async def is_due() -> bool:
    return bool(await list_due_followed_repos(get_now(), limit=10))


async def test_a_new_commit_is_submitted_in_the_name_of_the_user_who_follows(
    source: Source, repo: Path
) -> None:
    sha = change_skill(repo)

    outcome = await follow_repos()

    assert outcome == "1 of 1 repo checked, 1 submitted, 0 failed"
    assert await submitted(source) == [("ada", SubmissionState.RECEIVED)]
    record = (await followed()).record
    assert (record.commit_sha, record.status) == (sha, FollowStatus.FOLLOWING)
    assert record.checked_at == get_now()
    assert not await is_due()


@pytest.mark.usefixtures("database_file")
async def test_no_host_is_asked_while_the_disk_is_almost_full(
    source: Source, repo: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_skill(repo)
    clock.advance(**LATER)
    before = await followed()
    almost_full = SimpleNamespace(f_frsize=1, f_blocks=1024**4, f_bavail=1024**2)
    monkeypatch.setattr(os, "statvfs", lambda _: almost_full)

    with pytest.raises(DiskNearlyFull):
        await follow_repos()

    assert await followed() == before  # it stays due


async def test_the_commit_is_noted_in_the_same_database_commit_as_its_submission(
    source: Source, repo: Path
) -> None:
    change_skill(repo)

    await follow_repos()

    submission = await get_submission(await get_source_owner(source) or "")
    assert submission
    assert submission.revision == (await followed()).revision


async def test_a_commit_is_submitted_once_by_two_nodes_and_once_after_a_restart(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    change_skill(repo)

    await asyncio.gather(follow_repos(), follow_repos())
    await end(source, repo, SubmissionState.REJECTED)
    clock.advance(**LATER)
    await follow_repos()

    assert len(await submitted(source)) == 1


async def test_a_node_that_was_overtaken_submits_nothing(
    source: Source, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_skill(repo)

    async def stop_then_submit(*args: object, **options: object) -> object:
        await unfollow_repo(SLUG, actor="ada")
        return await submit(*args, **options)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr("vskill_platform.cron.submit_new_commits.submit", stop_then_submit)

    outcome = await follow_repos()

    assert outcome == "1 of 1 repo checked, 0 submitted, 0 failed"
    assert await submitted(source) == []


@pytest.mark.parametrize("state", [SubmissionState.PUBLISHED, SubmissionState.REJECTED])
async def test_a_commit_that_does_not_change_the_skill_is_not_submitted(
    source: Source, repo: Path, state: SubmissionState
) -> None:
    await end(source, repo, state)
    (repo / "other.md").write_text("elsewhere")
    sha = commit_all(repo)

    await follow_repos()

    assert await submitted(source) == []
    assert (await followed()).record.commit_sha == sha


async def test_a_commit_during_processing_is_submitted_afterwards(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    change_skill(repo)
    await follow_repos()
    await end(source, repo, SubmissionState.TIER1_SCANNING)
    last = change_skill(repo, "even more")
    clock.advance(**LATER)
    await follow_repos()
    meanwhile = (await followed()).record.commit_sha
    stored = await get_submission(await get_source_owner(source) or "")
    assert stored
    done = msgspec.structs.replace(stored.record, state=SubmissionState.PUBLISHED)
    assert await commit(write_submission(done, [], expected=stored.revision))

    clock.advance(minutes=5)
    await follow_repos()

    assert meanwhile != last
    assert (await followed()).record.commit_sha == last
    assert len(await submitted(source)) == 2


async def test_one_check_serves_all_skills_of_a_repo(
    source: Source, repo: Path, git_server: GitServer
) -> None:
    a_skill_folder(repo / "skills", "second")
    commit_all(repo)
    await publish(git_source(source.url, "skills/second"), repo, "ada/notes/second")
    git_server.asked.clear()

    outcome = await follow_repos()

    assert outcome == "1 of 1 repo checked, 0 submitted, 0 failed"
    beginnings = [path for path in git_server.asked if path.endswith("service=git-upload-pack")]
    assert len(beginnings) == 2  # one for the commit, one for the folders


async def test_a_disabled_user_stops_following(source: Source, repo: Path) -> None:
    change_skill(repo)
    await disable_user("ada", actor="test")

    await follow_repos()

    record = (await followed()).record
    assert (record.status, record.stopped_at) == (FollowStatus.STOPPED, get_now())
    assert record.problem == "the account ada is disabled or no longer exists"
    assert await submitted(source) == []
    assert not await is_due()


async def test_a_user_who_lost_the_namespace_stops_following_until_they_ask_again(
    source: Source, repo: Path
) -> None:
    namespace = namespace_of(source)
    await a_user(Role.READER)
    await add_owner(namespace, "ben", actor="test")
    change_skill(repo)
    await follow_repos()
    stopped = (await followed()).record

    await add_owner(namespace, "ada", actor="test")
    await remove_owner(namespace, "ben", actor="test")
    await follow_repo(a_published_skill(SLUG, repo_url=source.url), actor="ada")
    await follow_repos()

    assert stopped.status is FollowStatus.STOPPED
    assert "has other owners" in stopped.problem
    assert (await followed()).record.status is FollowStatus.FOLLOWING
    assert len(await submitted(source)) == 1


async def test_an_operator_without_an_account_can_follow(source: Source, repo: Path) -> None:
    await unfollow_repo(SLUG, actor="ada")
    skill = a_published_skill(SLUG, repo_url=source.url)
    await follow_repo(skill, actor="root", rights="operator")
    change_skill(repo)

    await follow_repos()

    assert await submitted(source) == [("root", SubmissionState.RECEIVED)]


async def test_the_daily_limit_of_the_policy_postpones_a_commit(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    env = bound_env()
    none_left = replace(env, policy=Policy(limits=PolicyLimits(submissions_per_day=0)))
    change_skill(repo)
    token = worker_env_storage.set(none_left)
    await follow_repos()
    worker_env_storage.reset(token)
    refused = (await followed()).record

    clock.advance(minutes=15)
    await follow_repos()

    assert (refused.status, refused.commit_sha) == (FollowStatus.FAILING, "")
    assert "per day" in refused.problem
    assert len(await submitted(source)) == 1


async def test_a_missing_repo_is_marked_and_checked_less_and_less_often_until_it_is_back(
    source: Source, repo: Path, git_server: GitServer, clock: ManualClock
) -> None:
    def missing(handler: BaseHTTPRequestHandler) -> None:
        handler.send_error(404)

    git_server.answers["/ada/notes"] = missing
    await follow_repos()
    first = (await followed()).record
    clock.advance(minutes=15)
    await follow_repos()
    clock.advance(minutes=26)  # less than twice as long, jitter included
    waits = not await is_due()
    second = (await followed()).record

    del git_server.answers["/ada/notes"]
    change_skill(repo)
    clock.advance(minutes=4)
    await follow_repos()

    assert (first.status, first.failures, second.failures) == (FollowStatus.MISSING, 1, 2)
    assert second.missing_since == first.missing_since
    assert waits
    record = (await followed()).record
    assert (record.status, record.failures, record.problem) == (FollowStatus.FOLLOWING, 0, "")
    assert len(await submitted(source)) == 1


def test_waits_double_up_to_a_day() -> None:
    waits = [back_off(failures) for failures in (1, 2, 3, 8, 1_000_000)]

    minutes = [wait / timedelta(minutes=1) for wait in waits]
    assert minutes == [15, 30, 60, 24 * 60, 24 * 60]


async def test_a_host_that_does_not_answer_is_no_missing_repo(
    source: Source, git_server: GitServer
) -> None:
    def broken(handler: BaseHTTPRequestHandler) -> None:
        handler.send_error(503)

    git_server.answers["/ada/notes"] = broken

    await follow_repos()

    record = (await followed()).record
    assert (record.status, record.missing_since) == (FollowStatus.FAILING, None)
    assert record.problem


async def test_a_skill_that_left_its_repo_is_marked_and_found_again(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    git(repo, "mv", PATH, "moved")
    commit_all(repo)
    await follow_repos()
    clock.advance(**LATER)
    await follow_repos()
    left = (await followed()).record

    git(repo, "mv", "moved", PATH)
    change_skill(repo)
    clock.advance(**LATER)
    await follow_repos()

    assert left.status is FollowStatus.FAILING
    assert left.problem == f"the folder {PATH!r} is no longer in the repository"
    assert (await followed()).record.status is FollowStatus.FOLLOWING
    assert len(await submitted(source)) == 1


async def test_a_skill_that_is_no_longer_published_is_not_followed(
    source: Source, git_server: GitServer
) -> None:
    skill = a_published_skill("ada/notes/gone", repo_url=source.url)
    assert await commit([write_skill(skill, expected=0)])
    await follow_repo(skill, actor="ada")
    stored = await get_skill(skill.slug)
    assert stored
    assert await commit(delete_skill_record(stored, []))

    await follow_repos()

    record = (await followed("ada/notes/gone")).record
    assert (record.status, record.problem) == (
        FollowStatus.STOPPED,
        "ada/notes/gone is no longer published",
    )


async def test_a_damaged_record_does_not_stop_the_others(source: Source, repo: Path) -> None:
    slug = "ada/notes/damaged"
    skill = a_published_skill(slug, repo_url=source.url, submission_id="sub_damaged")
    damaged = Put("sub:sub_damaged", b"{")
    assert await commit([damaged, write_skill(skill, expected=0)])
    await follow_repo(skill, actor="ada")
    change_skill(repo)

    outcome = await follow_repos()

    assert outcome == "1 of 1 repo checked, 1 submitted, 1 failed"
    record = (await followed(slug)).record
    assert (record.status, record.failures) == (FollowStatus.FAILING, 1)
    assert record.problem.startswith("a record in the database is damaged: sub:sub_damaged")


async def test_a_damaged_record_is_due_again_only_after_a_day(
    bound: WorkerEnv, clock: ManualClock
) -> None:
    key = "followed-repo:ada/notes/damaged"
    await commit([Put(key, b"{", due=get_now())])

    outcome = await follow_repos()

    assert outcome == "0 of 0 repos checked, 0 submitted, 1 failed"
    entry = await bound.engine.kv.get(key)
    assert entry
    assert (entry.value, await is_due()) == (b"{", False)
    clock.advance(hours=24)
    assert await is_due()


async def test_an_annotated_tag_is_followed_to_its_commit(
    source: Source, repo: Path, clock: ManualClock
) -> None:
    await add_owner(namespace_of(source), "ada", actor="test")
    skill = a_published_skill(SLUG, repo_url=source.url)
    git(repo, "tag", "--annotate", "--message=first", "stable")
    await follow_repo(skill, ref="stable", actor="ada")
    await follow_repos()
    first = (await followed()).record.commit_sha
    sha = change_skill(repo)
    git(repo, "tag", "--annotate", "--force", "--message=second", "stable")

    clock.advance(**LATER)
    await follow_repos()

    assert first == git(repo, "rev-parse", "HEAD~1")
    assert (await followed()).record.commit_sha == sha


@pytest.mark.parametrize("every", ["0s", "59s", "8d"])
def test_the_interval_is_between_a_minute_and_a_week(every: str) -> None:
    with pytest.raises(ConfigError, match="VSKILL_FOLLOW_EVERY must be between 1m and 7d"):
        load_settings({"VSKILL_FOLLOW_EVERY": every})
