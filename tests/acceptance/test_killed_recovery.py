"""`kill -9` during recovery: before its commit nothing changes, after it everything has."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import (
    ago,
    read_queue,
    read_statuses,
    read_version_counts,
    strand_folders,
)
from tests.casts import a_skill_folder

_RECOVERY_COMMIT = "vskill_platform.cron.recover_stuck:commit"
_CRON_CLAIM = "vskill_platform.cron.schedule:_claim"
_HOUR = timedelta(hours=1)
_PIPELINE = ["claim TIER1_SCANNING", "check AUTO_APPROVED", "publish PUBLISHED"]


@pytest.mark.slow
async def test_killed_before_its_commit_the_next_one_brings_it_back(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await strand_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed("before", _RECOVERY_COMMIT, "tick", ago=_HOUR)
    (killed,) = await read_statuses(platform, submission_id)
    ticked = platform.run("tick")
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)

    assert killed.steps == ["submit RECEIVED"]
    assert "recover-stuck: 1 stuck, 0 still queued, 1 requeued" in ticked.out
    assert status.steps == ["submit RECEIVED", "recover RECEIVED", *_PIPELINE]
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


async def test_killed_after_its_commit_it_is_queued_once(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await strand_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed("after", _RECOVERY_COMMIT, "tick", ago=_HOUR)
    queued = (await read_queue(platform)).ready
    ticked = platform.run("tick")
    platform.run("work", "--drain")
    (status,) = await read_statuses(platform, submission_id)

    assert queued == 1
    assert "recover-stuck: 1 stuck, 1 still queued, 0 requeued" in ticked.out
    assert status.steps == ["submit RECEIVED", "recover RECEIVED", *_PIPELINE]
    assert await read_version_counts(platform, ["@local/tidy-notes"]) == [1]


async def test_a_node_that_dies_with_the_job_in_hand_does_not_keep_it(
    platform: Platform, tmp_path: Path
) -> None:
    (submission_id,) = await strand_folders(platform, a_skill_folder(tmp_path), clock=ago(hours=2))

    platform.run_killed("after", _CRON_CLAIM, "tick", ago=_HOUR)
    platform.run("tick")

    (status,) = await read_statuses(platform, submission_id)
    assert status.steps == ["submit RECEIVED", "recover RECEIVED"]
