"""Two hundred submissions while workers are killed at random."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.program import Platform
from tests.acceptance.records import (
    read_queue,
    read_statuses,
    read_version_counts,
    submit_folders,
    wait_until_all_ended,
)
from tests.casts import a_skill_folder
from vskill_platform.engines.ports import RecordChange
from vskill_platform.model.submission import SubmissionState

_SUBMISSIONS = 200
_KILLS = 12
#: Leases that end soon after their worker, and no limit to how often one may lose its worker.
_SETTINGS = {
    "judge_deadline": "1s",
    "message_deadline": "4s",
    "lease": "5s",
    "stuck_threshold": "6s",
    "retry_delay": "0.01s",
    "max_retries": "50",
    "max_concurrency": "3",
    "scan_processes": "1",
}


async def _follow(changes: AsyncIterator[RecordChange], steps: int) -> None:
    """Wait until submissions have made so many steps."""
    while steps > 0:
        change = await anext(changes)
        steps -= sum(key.startswith("sub:") for key in change.keys)


@pytest.mark.torture
@pytest.mark.timeout(120)
async def test_none_is_lost_and_none_is_published_twice(platform: Platform, tmp_path: Path) -> None:
    folders = [a_skill_folder(tmp_path, f"skill-{number}") for number in range(_SUBMISSIONS)]
    submission_ids = await submit_folders(platform, *folders)
    dice = random.Random(20260314)

    workers = [platform.start("work", **_SETTINGS) for _ in range(2)]
    async with platform.env() as env, asyncio.timeout(60):
        changes = env.engine.changes(after=await env.engine.revision())
        for _ in range(_KILLS):
            await _follow(changes, dice.randint(2, 24))
            victim = dice.randrange(2)
            workers[victim].kill()
            workers[victim] = platform.start("work", **_SETTINGS)
    await wait_until_all_ended(platform, seconds=60)

    assert [worker.end() for worker in workers] == [0, 0]
    statuses = await read_statuses(platform, *submission_ids)
    assert {status.submission.state for status in statuses} == {SubmissionState.PUBLISHED}
    assert {status.steps.count("publish PUBLISHED") for status in statuses} == {1}
    slugs = [f"@local/{folder.name}" for folder in folders]
    assert set(await read_version_counts(platform, slugs)) == {1}
    queue = await read_queue(platform)
    assert (queue.ready, queue.leased, queue.delayed, queue.dead) == (0, 0, 0, 0)
    lost_their_worker = [status for status in statuses if "redeliver RECEIVED" in status.steps]
    assert lost_their_worker, "nobody was killed at work"
