"""Rescans by the scheduled job and a worker."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from vskill_platform.cron.schedule import RESCAN, run_due_jobs
from vskill_platform.queue.worker import Worker
from vskill_platform.runtime.env import WorkerEnv


async def rescan(env: WorkerEnv) -> list[str]:
    """Run the job, a worker, and the job once more; return what the two runs say."""
    outcomes = []
    for _ in range(2):
        (run,) = await run_due_jobs(env, jobs=(replace(RESCAN, every=timedelta(0)),))
        outcomes.append(run.outcome)
        await Worker(env).run(asyncio.Event(), drain=True)
    return outcomes
