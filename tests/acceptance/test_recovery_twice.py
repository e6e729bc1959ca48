"""Recovery runs twice, concurrently and until its budget is used: each is queued once."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import (
    ago,
    lose_messages,
    read_queue,
    read_statuses,
    strand_folders,
)
from tests.casts import a_skill_folder
from vskill_platform.base.clock import Clock
from vskill_platform.cron.recover_stuck import recover_stuck_submissions
from vskill_platform.cron.schedule import JOBS, run_due_jobs
from vskill_platform.model.submission import SubmissionState
from vskill_platform.runtime.worker_context import run_with_worker_env

_STRANDED = 20


async def _strand(platform: Platform, tmp_path: Path, *, clock: Clock) -> list[str]:
    folders = [a_skill_folder(tmp_path, f"skill-{number}") for number in range(_STRANDED)]
    return await strand_folders(platform, *folders, clock=clock)


async def _assert_each_was_queued_once(platform: Platform, submission_ids: Sequence[str]) -> None:
    for status in await read_statuses(platform, *submission_ids):
        assert status.steps == ["submit RECEIVED", "recover RECEIVED"]
        assert status.submission.recoveries == 1
    assert (await read_queue(platform)).ready == len(submission_ids)


def _brought_back(outcome: str) -> int:
    return int(re.findall(r"(\d+) requeued", outcome)[0])


async def test_running_it_twice_changes_nothing_more(platform: Platform, tmp_path: Path) -> None:
    submission_ids = await _strand(platform, tmp_path, clock=ago(hours=1))

    first = await platform.inside(recover_stuck_submissions)
    second = await platform.inside(recover_stuck_submissions)

    assert (_brought_back(first), _brought_back(second)) == (_STRANDED, 0)
    await _assert_each_was_queued_once(platform, submission_ids)


async def test_two_at_once_bring_each_back_once(platform: Platform, tmp_path: Path) -> None:
    submission_ids = await _strand(platform, tmp_path, clock=ago(hours=1))

    async with platform.env() as one, platform.env() as other:
        outcomes = await asyncio.gather(
            *(run_with_worker_env(env, recover_stuck_submissions) for env in (one, other) * 2)
        )

    assert sum(map(_brought_back, outcomes)) == _STRANDED
    await _assert_each_was_queued_once(platform, submission_ids)


async def test_two_ticks_at_once_bring_each_back_once(platform: Platform, tmp_path: Path) -> None:
    submission_ids = await _strand(platform, tmp_path, clock=ago(hours=1))

    ticks = [platform.start("tick", "--json") for _ in range(2)]
    codes = [tick.wait() for tick in ticks]

    runs = [run for tick in ticks for run in msgspec.json.decode(tick.rest())]
    outcomes = [run["outcome"] for run in runs if run["job"] == "recover-stuck"]
    assert codes == [0, 0]
    assert len(outcomes) == 1
    assert _brought_back(outcomes[0]) == _STRANDED
    await _assert_each_was_queued_once(platform, submission_ids)


async def test_of_two_nodes_one_runs_a_job_that_is_due(platform: Platform, tmp_path: Path) -> None:
    submission_ids = await _strand(platform, tmp_path, clock=ago(hours=1))

    async with platform.env() as one, platform.env() as other:
        runs = await asyncio.gather(run_due_jobs(one), run_due_jobs(other))

    jobs = [run.job for node_runs in runs for run in node_runs]
    assert sorted(jobs) == sorted(job.name for job in JOBS)
    await _assert_each_was_queued_once(platform, submission_ids)


@pytest.mark.slow
async def test_a_submission_that_gets_stuck_repeatedly_is_rejected_with_a_reason(
    platform: Platform, tmp_path: Path
) -> None:
    clock = ago(days=1)
    (submission_id,) = await strand_folders(platform, a_skill_folder(tmp_path), clock=clock)
    recover = partial(platform.inside, recover_stuck_submissions, clock=clock)

    outcomes = []
    for minutes in (5, 5, 10, 30):
        clock.advance(minutes=minutes)
        outcomes.append(_brought_back(await recover()))
        await platform.inside(lose_messages, clock=clock)

    assert outcomes == [1, 1, 1, 0]
    shown = platform.run("status", submission_id)
    assert "it was requeued 3 times and got stuck in RECEIVED again" in shown.out
    assert "fix: Submit it again" in shown.out
    (status,) = await read_statuses(platform, submission_id)
    assert status.submission.state is SubmissionState.REJECTED
    assert status.steps == ["submit RECEIVED", *["recover RECEIVED"] * 3, "recover REJECTED"]
    assert (await read_queue(platform)).ready == 0


async def test_recovery_waits_longer_after_each_time(platform: Platform, tmp_path: Path) -> None:
    clock = ago(days=1)
    await strand_folders(platform, a_skill_folder(tmp_path), clock=clock)
    recover = partial(platform.inside, recover_stuck_submissions, clock=clock)

    outcomes = []
    for minutes in (5, 5, 9, 1, 29, 1):
        clock.advance(minutes=minutes)
        outcomes.append(await recover())
        await platform.inside(lose_messages, clock=clock)

    assert [_brought_back(outcome) for outcome in outcomes] == [1, 1, 0, 1, 0, 0]
    assert "1 rejected" in outcomes[-1]
