"""What the clock starts: each job with its interval, its budget and its own failure."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.check_repos import check_repos
from vskill_platform.cron.index_likeness import index_likenesses
from vskill_platform.cron.prune import prune
from vskill_platform.cron.recover_stuck import recover_stuck_submissions
from vskill_platform.cron.remind_reviews import remind_reviews
from vskill_platform.cron.rescan import rescan_published
from vskill_platform.engines.ports import ABSENT, Operation
from vskill_platform.errors import EngineError, Overtaken
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.cron_store import (
    CronRun,
    expect_no_cron_run,
    get_cron_run,
    put_cron_run,
)
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.external_scan_dispatch import release_dead_external_scans

log = get_logger(__name__)

#: How often the schedule is looked at.
LOOK_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    every: timedelta
    #: A job that takes longer is stopped; the others never wait for it.
    budget: timedelta
    run: Callable[[], Awaitable[str]]


async def _release_external_scans() -> str:
    return f"{await release_dead_external_scans()} ended"


#: Operators can start it too; the same record keeps two of them apart.
RESCAN = Job("rescan", timedelta(minutes=10), timedelta(minutes=9), rescan_published)

JOBS = (
    Job("recover-stuck", timedelta(minutes=1), timedelta(seconds=50), recover_stuck_submissions),
    Job(
        "release-external-scans",
        timedelta(minutes=1),
        timedelta(seconds=50),
        _release_external_scans,
    ),
    Job("remind-reviews", timedelta(minutes=10), timedelta(minutes=1), remind_reviews),
    Job("check-repos", timedelta(minutes=2), timedelta(seconds=110), check_repos),
    Job("prune", timedelta(hours=1), timedelta(minutes=10), prune),
    Job("index-likenesses", timedelta(hours=1), timedelta(minutes=30), index_likenesses),
    RESCAN,
)


async def run_cron(env: WorkerEnv, stop: asyncio.Event) -> None:
    """Run what is due, again and again, until *stop* is set."""
    while not stop.is_set():
        await run_due_jobs(env)
        try:
            await asyncio.wait_for(stop.wait(), LOOK_EVERY_SECONDS)
        except TimeoutError:
            continue


async def run_due_jobs(env: WorkerEnv, *, jobs: tuple[Job, ...] = JOBS) -> list[CronRun]:
    """Run every due job once, side by side, each in an env of its own."""
    runs = await asyncio.gather(
        *(run_with_worker_env(env, partial(_run_if_due, job)) for job in jobs)
    )
    return [run for run in runs if run is not None]


async def _run_if_due(job: Job) -> CronRun | None:
    try:
        claimed = await _claim(job)
        if claimed is None:
            return None
        started, revision = claimed
        ended = await _run(job, started)
        await put_cron_run(ended, expected=revision)
    except EngineError as error:
        log.error("cron has no database", job=job.name, error=str(error))
        return None
    return ended


async def run_job_now(job: Job) -> CronRun:
    """Run a job though it is not due; one that is running already, here or elsewhere, goes on."""
    now, last = get_now(), await get_cron_run(job.name)
    if last and last.record.ended_at is None and abs(now - last.record.started_at) < job.budget:
        raise _is_running(last.record, job)
    started = CronRun(job=job.name, node=get_settings().node, started_at=now)
    revision = await put_cron_run(started, expected=last.revision if last else ABSENT)
    if revision is None:
        raise _is_running(started, job)
    ended = await _run(job, started)
    await put_cron_run(ended, expected=revision)
    return ended


async def ask_for_run(job: Job, *, actor: str, also: Sequence[Operation] = ()) -> None:
    """Make a job due, so that whichever node looks next runs it; the audit keeps who asked."""
    now, last = get_now(), await get_cron_run(job.name)
    operations = [write_audit(job.name, "all", actor=actor, reason=""), *also]
    if last is None:  # then it is due anyway
        is_asked = await commit([expect_no_cron_run(job.name), *operations])
    elif last.record.ended_at is None and abs(now - last.record.started_at) < job.budget:
        raise _is_running(last.record, job)
    else:
        asked = msgspec.structs.replace(last.record, asked_at=now)
        is_asked = await put_cron_run(asked, expected=last.revision, also=operations)
    if is_asked is None:
        raise Overtaken(f"{job.name} has just been started; wait for it")


def _is_running(run: CronRun, job: Job) -> Overtaken:
    until = run.started_at + job.budget
    return Overtaken(
        f"another {job.name} is running, since {run.started_at:%H:%M:%S} UTC; wait for it, or "
        f"until {until:%H:%M:%S} UTC if it was killed"
    )


async def _claim(job: Job) -> tuple[CronRun, int] | None:
    """Start a run if it is time; of several nodes only one gets it."""
    now = get_now()
    last = await get_cron_run(job.name)
    # The absolute distance: after the clock jumped back, the last start lies in the future.
    is_recent = last and abs(now - last.record.started_at) < job.every
    if last and is_recent and not last.record.asked_at:
        return None
    run = CronRun(job=job.name, node=get_settings().node, started_at=now)
    revision = await put_cron_run(run, expected=last.revision if last else ABSENT)
    return (run, revision) if revision is not None else None


async def _run(job: Job, run: CronRun) -> CronRun:
    try:
        async with asyncio.timeout(job.budget.total_seconds()):
            outcome, is_failure = await job.run(), False
    except Exception as error:
        outcome, is_failure = f"{type(error).__name__}: {error}", True
        log.error("cron job failed", job=job.name, error=outcome, exc_info=error)
    return msgspec.structs.replace(run, ended_at=get_now(), outcome=outcome, is_failure=is_failure)
