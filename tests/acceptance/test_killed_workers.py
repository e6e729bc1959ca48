"""`kill -9` at every step of the pipeline: the next worker continues and publishes once.

The worker that dies lived an hour ago, with the deadlines that we ship: by now its lease is over.
"""

import signal
from datetime import timedelta
from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import (
    ago,
    read_queue,
    read_statuses,
    read_version_counts,
    submit_folders,
)
from tests.casts import a_skill_folder
from tests.repos import a_repo
from vskill_platform.model.submission import SubmissionState

_RECEIVE = "vskill_platform.engines.sqlite.queue:SqliteMessageQueue.receive"
_CLAIM = "vskill_platform.queue.claim_submission:commit"
_SNAPSHOT = "vskill_platform.fetch.fetch_source:copy_files"
_CLONE = "vskill_platform.fetch.repo:Repo.fetch_commit"
_CHECK_PROCESS = "vskill_platform.base.killable_process:_take_process"
_FINAL_COMMIT = "vskill_platform.queue.process_submission:commit"
_ACKNOWLEDGE = "vskill_platform.engines.sqlite.transaction:Transaction.must"

_FIRST_TRY = ["submit RECEIVED", "claim TIER1_SCANNING"]
_PUBLISHED = ["check AUTO_APPROVED", "publish PUBLISHED"]
_SECOND_TRY = ["redeliver RECEIVED", "claim TIER1_SCANNING", *_PUBLISHED]
_HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("moment", "place"),
    [
        pytest.param("after", _RECEIVE, marks=pytest.mark.torture),
        pytest.param("after", _SNAPSHOT, marks=pytest.mark.torture),
        ("before", _CLAIM),
    ],
    ids=["leased", "fetched", "claiming"],
)
async def test_killed_before_the_claim_the_next_worker_begins(
    platform: Platform, tmp_path: Path, moment: str, place: str
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed(moment, place, "work", "--drain", ago=_HOUR)
    (killed,) = await read_statuses(platform, submission_id)
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)

    assert killed.steps == _FIRST_TRY[:1]
    assert status.steps == _FIRST_TRY + _PUBLISHED
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


@pytest.mark.parametrize(
    ("moment", "place"),
    [
        pytest.param("after", _CLAIM, marks=pytest.mark.torture),
        ("after", _CHECK_PROCESS),
        pytest.param("before", _FINAL_COMMIT, marks=pytest.mark.torture),
        ("after", _ACKNOWLEDGE),
    ],
    ids=["claimed", "checking", "before the last commit", "in the last commit"],
)
async def test_killed_on_the_way_the_next_worker_starts_over(
    platform: Platform, tmp_path: Path, moment: str, place: str
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed(moment, place, "work", "--drain", ago=_HOUR)
    (killed,) = await read_statuses(platform, submission_id)
    versions_by_then = await read_version_counts(platform, ["@local/tidy-notes"])
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)

    assert killed.steps == _FIRST_TRY
    assert versions_by_then == [0]
    assert status.steps == _FIRST_TRY + _SECOND_TRY
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]
    assert (await read_queue(platform)).ready == 0


@pytest.mark.torture
async def test_killed_while_it_clones_the_next_worker_starts_over(
    platform: Platform, tmp_path: Path
) -> None:
    url = a_repo(a_skill_folder(tmp_path / "ada"))
    platform.run_killed(
        "after", "vskill_platform.stores.change:commit", "submit", url, ago=2 * _HOUR
    )

    platform.run_killed("after", _CLONE, "work", "--drain", ago=_HOUR)
    platform.run("work", "--drain")

    assert await read_version_counts(platform, ["ada/tidy-notes/tidy-notes"]) == [1]


async def test_killed_after_the_last_commit_nothing_is_left_to_do(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed("after", _FINAL_COMMIT, "work", "--drain", ago=_HOUR)
    (killed,) = await read_statuses(platform, submission_id)
    queue = await read_queue(platform)
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)

    assert killed.submission.state is SubmissionState.PUBLISHED
    assert status == killed
    assert status.steps == _FIRST_TRY + _PUBLISHED
    assert (queue.ready, queue.leased, queue.dead) == (0, 0, 0)
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


@pytest.mark.torture
async def test_a_worker_that_slept_through_its_lease_changes_nothing(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    sleeper = platform.start_sleeping("before", _FINAL_COMMIT, "work", "--drain", ago=_HOUR)
    platform.run("work", "--drain")
    (before,) = await read_statuses(platform, submission_id)
    woken = sleeper.end(signal.SIGCONT)
    (after,) = await read_statuses(platform, submission_id)

    assert woken == 0
    assert before.steps == _FIRST_TRY + _SECOND_TRY
    assert after == before
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


async def test_a_lease_that_still_runs_is_waited_for(platform: Platform, tmp_path: Path) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path))

    platform.run_killed("after", _CLAIM, "work", "--drain")
    platform.run("work", "--drain")
    ticked = platform.run("tick")

    (status,) = await read_statuses(platform, submission_id)
    assert status.steps == _FIRST_TRY
    assert (await read_queue(platform)).leased == 1
    assert "0 requeued" in ticked.out


@pytest.mark.slow
async def test_a_skill_that_kills_every_worker_is_put_away(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=8))

    for hours in (7, 6, 5, 4, 3, 2, 1):
        platform.run_killed("after", _CHECK_PROCESS, "work", "--drain", ago=hours * _HOUR)
    platform.run("work", "--drain")

    (status,) = await read_statuses(platform, submission_id)
    assert status.submission.state is SubmissionState.REJECTED
    assert status.submission.reason.startswith("the worker crashed 7 times while processing it")
    assert status.report
    assert len(status.report.findings) == 1
    assert (await read_queue(platform)).dead == 1


async def test_the_next_worker_removes_the_folders_of_a_killed_one_when_it_starts(
    platform: Platform, tmp_path: Path
) -> None:
    await submit_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))
    platform.run_killed("after", _SNAPSHOT, "work", "--drain", ago=_HOUR)
    left = list((tmp_path / "tmp").glob("vskill-work-*"))

    done = platform.run("work", "--drain", log_level="INFO")

    assert len(left) == 1
    assert not left[0].exists()
    assert "abandoned work folders removed" in done.err
