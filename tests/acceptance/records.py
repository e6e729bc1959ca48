"""Write and read records in the database from within the test."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.acceptance.processes import PATIENCE_SECONDS
from tests.acceptance.program import Platform, Status
from tests.clocks import ManualClock
from vskill_platform.base.clock import Clock
from vskill_platform.engines.operations import Acknowledge
from vskill_platform.engines.ports import QueueStats
from vskill_platform.intake.submit import submit
from vskill_platform.model.source import folder_source
from vskill_platform.stores.db import commit, get_queue
from vskill_platform.stores.follow_submissions import follow_submission
from vskill_platform.stores.scan_store import get_report
from vskill_platform.stores.submission_store import (
    get_history,
    get_submission,
    get_submission_index,
)
from vskill_platform.stores.version_store import get_versions


def ago(**by: float) -> ManualClock:
    """Return a stopped clock in the past."""
    return ManualClock(datetime.now(UTC) - timedelta(**by))


async def submit_folders(
    platform: Platform, *folders: Path, clock: Clock | None = None
) -> list[str]:
    """Submit folders; return the ids of the submissions."""

    async def submit_each() -> list[str]:
        sources = [folder_source(str(folder)) for folder in folders]
        results = [await submit(source, submitter="ada") for source in sources]
        return [result.submission.id for result in results]

    return await platform.inside(submit_each, clock=clock)


async def strand_folders(platform: Platform, *folders: Path, clock: Clock) -> list[str]:
    """Submit folders and lose their messages, as only a bug could."""
    submission_ids = await submit_folders(platform, *folders, clock=clock)
    await platform.inside(lose_messages, clock=clock)
    return submission_ids


async def lose_messages() -> None:
    deliveries = await get_queue().receive(100, lease=timedelta(seconds=1))
    await commit([Acknowledge(delivery) for delivery in deliveries])


async def wait_until_all_ended(platform: Platform, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Follow every submission, by the change feed, to its end."""

    async def follow_all() -> None:
        page = await get_submission_index(limit=1000)
        for submission in page.submissions:
            async for _ in follow_submission(submission.id):
                pass

    async with asyncio.timeout(seconds):
        await platform.inside(follow_all)


async def read_statuses(platform: Platform, *submission_ids: str) -> list[Status]:
    async def read(submission_id: str) -> Status:
        stored = await get_submission(submission_id)
        assert stored, f"{submission_id} is lost"
        return Status(
            stored.record, await get_history(submission_id), await get_report(submission_id)
        )

    return await platform.inside(lambda: asyncio.gather(*map(read, submission_ids)))


async def read_version_counts(platform: Platform, slugs: Sequence[str]) -> list[int]:
    """Return how many versions of each skill were published."""

    async def count(slug: str) -> int:
        return len(await get_versions(slug))

    return await platform.inside(lambda: asyncio.gather(*map(count, slugs)))


async def read_queue(platform: Platform) -> QueueStats:
    return await platform.inside(lambda: get_queue().stats())
