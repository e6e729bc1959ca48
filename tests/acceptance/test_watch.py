"""`--watch`: following a submission while a worker in another process handles it."""

import signal
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import read_statuses, submit_folders
from tests.casts import a_skill_folder


def test_submit_watch_shows_each_state_and_ends_with_the_publication(
    platform: Platform, tmp_path: Path
) -> None:
    worker = platform.start("work")

    watched = platform.run("submit", a_skill_folder(tmp_path, "word-count"), "--watch")

    assert watched.code == 0
    assert watched.err.splitlines()[-1] == "PUBLISHED published as @local/word-count 1.0.0"
    assert "Published as @local/word-count" in watched.out
    assert worker.end() == 0


def test_submit_watch_ends_with_one_when_it_was_not_published(
    platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    platform.start("work")

    watched = platform.run("submit", tmp_path / "empty", "--watch", "--json")

    assert watched.code == 1
    assert msgspec.json.decode(watched.out)["submission"]["state"] == "TIER1_FAILED"
    assert watched.err == ""


@pytest.mark.torture
def test_submit_watch_says_last_what_it_came_to(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    platform.start("work")

    watched = platform.run("submit", tmp_path / "empty", "--watch")

    first, why, more = watched.out.splitlines()
    assert first.startswith("Finished: sub_")
    assert first.endswith(" TIER1_FAILED")
    assert why
    assert "in the queue" not in watched.out
    assert "--watch" not in watched.out
    assert more.startswith("Findings: vskill-platform status sub_")
    assert watched.code == 1


@pytest.mark.torture
async def test_status_watch_waits_for_a_worker_that_comes_later(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path, "word-count"))
    watcher = platform.start("status", submission_id, "--watch")
    watcher.wait_for("RECEIVED submitted")

    platform.run("work", "--drain")

    assert watcher.wait() == 0
    assert "PUBLISHED published as @local/word-count 1.0.0" in watcher.rest()


async def test_status_watch_of_what_has_ended_returns_at_once(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path, "word-count"))
    platform.run("work", "--drain")

    watched = platform.run("status", submission_id, "--watch", "--json")

    assert watched.code == 0
    assert msgspec.json.decode(watched.out)["submission"]["state"] == "PUBLISHED"


@pytest.mark.slow
async def test_ctrl_c_leaves_the_watching_and_not_the_submission(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path, "word-count"))
    watcher = platform.start("status", submission_id, "--watch")
    watcher.wait_for("RECEIVED submitted")

    assert watcher.end(signal.SIGINT) == 1
    assert "Traceback" not in watcher.rest()
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)
    assert status.steps[-1] == "publish PUBLISHED"
