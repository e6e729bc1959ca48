"""Repo health with a real git server: found, missing, and unknown."""

from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.casts import a_published_skill, a_skill_folder, a_submission
from tests.clocks import NOON, ManualClock
from tests.git_server import Answer, GitServer
from tests.repos import commit_all, git
from vskill_platform.cron import check_repo_health as module
from vskill_platform.cron.check_repo_health import check_repo_health
from vskill_platform.fetch.probe_repo import probe_repo
from vskill_platform.model.source import Source, folder_source, git_source
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.db import commit
from vskill_platform.stores.repo_health_store import (
    GONE_AFTER,
    MISSES_UNTIL_GONE,
    RepoHealth,
    RepoStatus,
    get_last_check,
    get_repo_health,
    put_repo_health,
    view_repo_health,
)
from vskill_platform.stores.skill_store import write_skill
from vskill_platform.stores.submission_store import write_submission

ONLINE, STALE, GONE, UNKNOWN = RepoStatus
#: Longer than any time until the next look.
NEXT_DAY = {"hours": 21}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T12:00:00Z")
    return a_skill_folder(tmp_path / "repo" / "skills").parents[1]


async def published(slug: str, source: Source, *, tree_sha: str | None = None) -> None:
    """Publish a skill as if it had been checked at this state of its folder."""
    submission = a_submission(
        SubmissionState.PUBLISHED, submission_id=f"sub_{slug.replace('/', '_')}"
    )
    submission = msgspec.structs.replace(submission, source=source, tree_sha=tree_sha)
    skill = a_published_skill(slug, repo_url=source.url, submission_id=submission.id)
    written = write_submission(submission, [], expected=0)
    assert await commit([*written, write_skill(skill, expected=0)])


async def look(slug: str = "ada/notes/tidy-notes") -> RepoHealth:
    await check_repo_health()
    return await get_repo_health(slug)


async def check_repeatedly(
    clock: ManualClock, times: int, slug: str = "ada/notes/tidy-notes", *, hours: float = 21
) -> list[RepoHealth]:
    seen = []
    for _ in range(times):
        seen.append(await look(slug))
        clock.advance(hours=hours)
    return seen


def answering(status: int) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.send_header("Connection", "close")
        handler.end_headers()

    return answer


def hanging_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


async def test_a_repo_that_is_there_is_online(git_server: GitServer, repo: Path) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    tree = git(repo, "rev-parse", "HEAD:skills/tidy-notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"), tree_sha=tree)

    health = await look()

    assert health.status is ONLINE
    assert health.last_commit_at
    assert f"{health.last_commit_at:%Y-%m-%d}" == "2026-03-01"
    assert not health.has_moved


async def test_a_repo_without_a_commit_for_a_year_is_stale(
    git_server: GitServer, repo: Path, clock: ManualClock
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))
    clock.advance(days=352)
    almost = await look()

    clock.advance(days=1)

    assert (almost.status, (await look()).status) == (ONLINE, STALE)


async def test_commits_elsewhere_do_not_count_as_a_move_of_the_skill(
    git_server: GitServer, repo: Path, clock: ManualClock
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    tree = git(repo, "rev-parse", "HEAD:skills/tidy-notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"), tree_sha=tree)
    (repo / "other.md").write_text("elsewhere")
    commit_all(repo)
    elsewhere = await look()

    (repo / "skills/tidy-notes/more.md").write_text("here")
    commit_all(repo)
    clock.advance(**NEXT_DAY)
    here = await look()

    assert (elsewhere.has_moved, here.has_moved) == (False, True)
    assert here.status is ONLINE


async def test_a_skill_or_branch_that_was_removed_has_moved_in_a_repo_that_is_there(
    git_server: GitServer, repo: Path
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/gone", git_source(url, "skills/gone"), tree_sha="0" * 40)
    await published(
        "ada/notes/branch", git_source(url, "skills/tidy-notes", ref="old"), tree_sha="0" * 40
    )

    gone, branch = await look("ada/notes/gone"), await look("ada/notes/branch")

    assert (gone.status, gone.has_moved) == (ONLINE, True)
    assert (branch.status, branch.has_moved) == (ONLINE, True)


async def test_one_look_serves_all_skills_of_a_repo(git_server: GitServer, repo: Path) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    for number in range(3):
        await published(f"ada/notes/s{number}", git_source(url, "skills/tidy-notes"))

    said = await check_repo_health()

    assert said == "1 of 1 repo checked, 0 failed"
    first_line = [path for path in git_server.asked if path.endswith("service=git-upload-pack")]
    assert len(first_line) == 1


@pytest.mark.parametrize("status", [404, 410, 401])
async def test_a_repo_is_gone_after_several_missing_results_over_days(
    git_server: GitServer, clock: ManualClock, status: int
) -> None:
    git_server.answers["/ada/notes"] = answering(status)
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))

    seen = await check_repeatedly(clock, 4)

    assert [health.status for health in seen] == [UNKNOWN, UNKNOWN, UNKNOWN, GONE]
    assert [health.misses for health in seen] == [1, 2, 3, 4]
    assert seen[0].note
    assert seen[-1].missing_since == NOON


async def test_many_answers_on_one_day_are_not_enough(
    git_server: GitServer, clock: ManualClock
) -> None:
    git_server.answers["/ada/notes"] = answering(404)
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))

    *_, health = await check_repeatedly(clock, 5, hours=9)

    assert health.misses > MISSES_UNTIL_GONE
    assert health.status is UNKNOWN


async def test_a_repo_that_is_back_has_never_been_away(
    git_server: GitServer, repo: Path, clock: ManualClock
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))
    missing = RepoHealth(status=GONE, checked_at=NOON, missing_since=NOON, misses=9)
    await put_repo_health("ada/notes/tidy-notes", missing)
    clock.advance(**NEXT_DAY)

    health = await look()

    assert (health.status, health.misses, health.missing_since) == (ONLINE, 0, None)


@pytest.mark.parametrize(
    "outage", [answering(500), answering(503), answering(429), answering(403), hanging_up],
    ids=["500", "503", "429", "403", "hangs up"],
)  # fmt: skip
async def test_an_outage_is_never_gone_however_long_it_lasts(
    git_server: GitServer, clock: ManualClock, outage: Answer
) -> None:
    git_server.answers["/ada/notes"] = outage
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))

    *_, health = await check_repeatedly(clock, MISSES_UNTIL_GONE + 1)

    assert (health.status, health.misses) == (UNKNOWN, 0)
    assert health.note


@pytest.mark.parametrize(
    "url", ["https://no-such-host.invalid/ada/notes", "http://127.0.0.1:1/ada/notes"]
)
async def test_a_host_that_cannot_be_found_or_reached_is_never_gone(
    git_server: GitServer, clock: ManualClock, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = worker_env_storage.get()
    assert known
    hosts = f"{git_server.origin},http://127.0.0.1:1"
    settings = msgspec.structs.replace(known.settings, private_hosts=hosts)
    worker_env_storage.set(replace(known, settings=settings))
    await published("ada/notes/tidy-notes", git_source(url))

    *_, health = await check_repeatedly(clock, MISSES_UNTIL_GONE + 1)

    assert (health.status, health.misses) == (UNKNOWN, 0)


async def test_a_host_that_never_answers_is_unknown(
    git_server: GitServer, clock: ManualClock
) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        git_server.ended.wait()

    git_server.answers["/ada/notes"] = silent
    known = worker_env_storage.get()
    assert known
    settings = msgspec.structs.replace(known.settings, fetch_deadline=timedelta(milliseconds=300))
    worker_env_storage.set(replace(known, settings=settings))
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))

    health = await look()

    assert (health.status, health.misses) == (UNKNOWN, 0)
    assert "within 0.3 s" in health.note


async def test_an_outage_says_nothing_against_what_was_seen_before(
    git_server: GitServer, clock: ManualClock
) -> None:
    git_server.answers["/ada/notes"] = answering(404)
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))
    await check_repeatedly(clock, 2)
    git_server.answers["/ada/notes"] = answering(503)
    during = await look()
    clock.advance(**NEXT_DAY)
    git_server.answers["/ada/notes"] = answering(404)

    after = await look()

    assert (during.status, during.misses) == (UNKNOWN, 2)
    assert (after.status, after.misses) == (GONE, 3)
    assert after.missing_since
    assert after.checked_at - after.missing_since >= GONE_AFTER


async def test_repo_health_is_cached_and_refreshed_in_time(
    git_server: GitServer, repo: Path, clock: ManualClock
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))
    await look()
    asked = len(git_server.asked)

    clock.advance(hours=19)
    await look()
    cached = len(git_server.asked)
    clock.advance(hours=2)
    await look()

    assert cached == asked
    assert len(git_server.asked) > asked


async def test_a_page_shows_the_known_repo_health_and_the_cron_job_checks_it_next(
    git_server: GitServer, repo: Path
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))

    first = await view_repo_health("ada/notes/tidy-notes")
    asked_by_the_page = list(git_server.asked)
    await check_repo_health()
    second = await view_repo_health("ada/notes/tidy-notes")

    assert (first.status, second.status) == (UNKNOWN, ONLINE)
    assert asked_by_the_page == []


async def test_a_page_that_is_opened_often_asks_for_one_look_an_hour(
    git_server: GitServer, clock: ManualClock
) -> None:
    git_server.answers["/ada/notes"] = answering(503)
    await published("ada/notes/tidy-notes", git_source(f"{git_server.url}/ada/notes"))
    await look()
    asked = len(git_server.asked)

    clock.advance(minutes=30)
    await view_repo_health("ada/notes/tidy-notes")
    await look()
    soon = len(git_server.asked)
    clock.advance(minutes=31)
    await view_repo_health("ada/notes/tidy-notes")
    await look()

    assert soon == asked
    assert len(git_server.asked) > asked


async def test_an_uploaded_skill_has_no_repo_to_check(
    git_server: GitServer, tmp_path: Path
) -> None:
    await published("@local/tidy-notes", folder_source(str(tmp_path / "nowhere")))

    said = [await check_repo_health(), await check_repo_health()]

    health = await get_repo_health("@local/tidy-notes")
    assert (health.status, health.note) == (UNKNOWN, "it was uploaded, so it has no repository")
    assert said[1] == "0 of 0 repos checked, 0 failed"


async def test_a_repo_of_this_machine_that_is_not_there_may_be_unplugged(
    git_server: GitServer, tmp_path: Path, clock: ManualClock
) -> None:
    await published("x/y/z", git_source(f"file://{tmp_path}/ada/notes"))

    *_, health = await check_repeatedly(clock, MISSES_UNTIL_GONE + 1, "x/y/z")

    assert (health.status, health.misses) == (UNKNOWN, 0)


async def test_one_repo_that_breaks_the_check_spoils_no_other(
    git_server: GitServer, repo: Path, monkeypatch: pytest.MonkeyPatch, logs: list[Any]
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("a/bad/z", git_source(f"{git_server.url}/a/bad"))
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))

    async def broken(source: Source, *arguments: Any) -> Any:
        if source.url.endswith("bad"):
            raise ValueError("broken")
        return await probe_repo(source, *arguments)

    monkeypatch.setattr(module, "probe_repo", broken)

    said = await check_repo_health()

    assert said == "2 of 2 repos checked, 1 failed"
    assert (await get_repo_health("ada/notes/tidy-notes")).status is ONLINE
    assert any(event["event"] == "repo not checked" for event in logs)


async def test_a_commit_that_claims_to_be_of_the_future_is_of_now_at_the_latest(
    git_server: GitServer, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))

    await look()

    last = await get_last_check("ada/notes/tidy-notes")
    assert last
    assert last.last_commit_at == NOON


async def test_a_repo_not_checked_in_one_run_is_due_in_the_next(
    git_server: GitServer, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = git_server.serve_repo(repo, "ada/notes")
    await published("ada/notes/tidy-notes", git_source(url, "skills/tidy-notes"))
    monkeypatch.setattr(module, "_SECONDS_A_RUN", 0)
    assert await check_repo_health() == "0 of 1 repo checked, 0 failed"

    monkeypatch.undo()

    assert (await look()).status is ONLINE
