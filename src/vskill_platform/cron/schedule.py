"""The cron jobs: each runs on its own loop, with its own interval, budget and failure.

No job waits for another. A stop cancels all of them at once. A job that ignores its cancellation is
abandoned after the stop grace; this is safe because every job can be repeated.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec

from vskill_platform.base.metrics import count_cron_run
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.check_mirrors import check_mirrors
from vskill_platform.cron.check_repo_health import check_repo_health
from vskill_platform.cron.fill_similarity_index import send_missing_skills
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.cron.prune import prune
from vskill_platform.cron.recover_stuck import recover_stuck_submissions
from vskill_platform.cron.remind_reviews import remind_reviews
from vskill_platform.cron.rescan import send_rescans
from vskill_platform.cron.run_lease import RunLease, is_running, refuse_if_running
from vskill_platform.cron.sweep_blobs import sweep_unused_blobs
from vskill_platform.errors import EngineError, Overtaken
from vskill_platform.events.deliver import has_events_to_send, send_events
from vskill_platform.events.send_mail import has_due_mails, send_due_mails
from vskill_platform.publish.policy.current_policy import run_with_current_policy
from vskill_platform.publish.rescans.newest_rules import has_newest_rules
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.background_store import JOB_OF, RescanMessage, SimilarityMessage
from vskill_platform.stores.cron_store import CronRun, get_cron_run
from vskill_platform.stores.db import get_now
from vskill_platform.stores.external_scan_dispatch import release_dead_external_scans

log = get_logger(__name__)

#: How often a job's loop checks whether the job is due.
LOOK_EVERY_SECONDS = 5.0
#: How long a job may clean up after its budget, before it is reported as still running.
CLEAN_UP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CronJob:
    name: str
    every: timedelta
    #: A job that takes longer is cancelled.
    budget: timedelta
    run: Callable[[], Coroutine[Any, Any, str]]
    #: Whether only nodes with the newest rules and policy run it.
    needs_newest_rules: bool = False
    #: Returns whether there is work, so that the job runs before its interval has passed.
    has_work: Callable[[], Coroutine[Any, Any, bool]] | None = None


async def _release_external_scans() -> str:
    return f"{await release_dead_external_scans()} ended"


#: Operators can also start it; the shared record prevents parallel runs.
RESCAN = CronJob(
    JOB_OF[RescanMessage],
    timedelta(minutes=10),
    timedelta(minutes=9),
    send_rescans,
    needs_newest_rules=True,
)


async def _follow_repos() -> str:
    """Submit under the current policy, which limits the submissions of a publisher."""
    return await run_with_current_policy(follow_repos)


#: A push webhook also starts it.
FOLLOW_REPOS = CronJob("follow-repos", timedelta(minutes=2), timedelta(seconds=110), _follow_repos)

JOBS = (
    CronJob(
        "recover-stuck", timedelta(minutes=1), timedelta(seconds=50), recover_stuck_submissions
    ),
    CronJob(
        "release-external-scans",
        timedelta(minutes=1),
        timedelta(seconds=50),
        _release_external_scans,
    ),
    CronJob("remind-reviews", timedelta(minutes=10), timedelta(minutes=1), remind_reviews),
    CronJob(
        "send-mail",
        timedelta(minutes=10),
        timedelta(minutes=5),
        send_due_mails,
        has_work=has_due_mails,
    ),
    CronJob(
        "send-events",
        timedelta(minutes=10),
        timedelta(minutes=5),
        send_events,
        has_work=has_events_to_send,
    ),
    CronJob("check-repos", timedelta(minutes=2), timedelta(seconds=110), check_repo_health),
    FOLLOW_REPOS,
    CronJob("check-mirrors", timedelta(minutes=5), timedelta(seconds=110), check_mirrors),
    CronJob("prune", timedelta(hours=1), timedelta(minutes=10), prune),
    CronJob("sweep-blobs", timedelta(hours=1), timedelta(minutes=30), sweep_unused_blobs),
    CronJob(
        JOB_OF[SimilarityMessage], timedelta(hours=1), timedelta(minutes=30), send_missing_skills
    ),
    RESCAN,
)


def snapshot_job(share: Callable[[], Coroutine[Any, Any, str]]) -> CronJob:
    """Return the job of web nodes, the only nodes with a search index."""
    return CronJob("snapshot-index", timedelta(hours=6), timedelta(minutes=20), share)


async def run_cron(env: WorkerEnv, stop: asyncio.Event, *, jobs: Sequence[CronJob] = JOBS) -> None:
    """Run each job on its own loop until *stop* is set, then cancel what is still running."""
    loops = [asyncio.create_task(_run_loop(env, job), name=f"cron {job.name}") for job in jobs]
    stopping = asyncio.create_task(stop.wait())
    try:
        # A loop ends only with an unexpected error: the platform then stops and reports it.
        await asyncio.wait([stopping, *loops], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        late = await _cancel(loops, within=env.settings.stop_grace)
    for loop in late:
        log.error("cron job did not stop in time", job=loop.get_name())
    for loop in set(loops) - late:
        if not loop.cancelled():
            loop.result()


async def run_due_jobs(env: WorkerEnv, *, jobs: Sequence[CronJob] = JOBS) -> list[CronRun]:
    """Run every due job once, concurrently, each in its own env."""
    runs = await asyncio.gather(
        *(run_with_worker_env(env, partial(_run_if_due, job)) for job in jobs)
    )
    return [run.record for run in runs if run is not None]


async def _cancel(
    tasks: Sequence[asyncio.Task[None]], *, within: timedelta
) -> set[asyncio.Task[None]]:
    """Cancel all tasks; return those that did not end in time."""
    for task in tasks:
        task.cancel()
    _, late = await asyncio.wait(tasks, timeout=within.total_seconds())
    return late


class _Ended(NamedTuple):
    record: CronRun
    #: The task of the job; it stays unfinished if the job ignores its cancellation.
    work: asyncio.Future[str]


async def _run_loop(env: WorkerEnv, job: CronJob) -> None:
    while True:
        run = await run_with_worker_env(env, partial(_run_if_due, job))
        if run and not run.work.done():  # never two runs of a job in one process
            await asyncio.wait([run.work])
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _run_if_due(job: CronJob) -> _Ended | None:
    try:
        lease = await _claim(job)
        if lease is None:
            return None
        try:
            ended = await _run(job, lease)
        except asyncio.CancelledError:
            # The next node that checks will start it again.
            stopped = _end(lease.run, "stopped with its server; it will be restarted")
            await lease.end(msgspec.structs.replace(stopped, asked_at=stopped.ended_at))
            raise
        _measure(ended.record)
        await lease.end(ended.record)
    except EngineError as error:
        log.error(
            "cron job not recorded, the database does not answer", job=job.name, error=str(error)
        )
        return None
    return ended


async def run_job_now(job: CronJob) -> CronRun:
    """Run a job even if it is not due, unless it is already running somewhere."""
    last = await get_cron_run(job.name)
    if last:
        refuse_if_running(last.record, job.budget)
    lease = await RunLease.take(job.name, last)
    if lease is None:
        raise Overtaken(f"another {job.name} has just been started; wait for it")
    try:
        record = (await _run(job, lease)).record
    except asyncio.CancelledError:
        await lease.end(_end(lease.run, "interrupted"))
        raise
    await lease.end(record)
    return record


async def _claim(job: CronJob) -> RunLease | None:
    """Start a run if it is due; only one of several nodes succeeds."""
    last = await get_cron_run(job.name)
    if last and not await _is_due(job, last.record):
        return None
    # Before the claim, so that the node with the newest rules need not wait for the next interval.
    if job.needs_newest_rules and not await has_newest_rules():
        return None
    return await RunLease.take(job.name, last)


async def _is_due(job: CronJob, last: CronRun) -> bool:
    # The absolute difference: after the clock jumped back, the last start is in the future.
    if last.asked_at or abs(get_now() - last.started_at) >= job.every:
        return True
    if last.ended_at is None:
        return not is_running(last, job.budget)
    return job.has_work is not None and await job.has_work()


async def _run(job: CronJob, lease: RunLease) -> _Ended:
    """Run the job within its budget; wait only briefly if it ignores its cancellation."""
    work, keeping = asyncio.ensure_future(job.run()), asyncio.ensure_future(lease.keep())
    try:
        await asyncio.wait(
            [work, keeping],
            timeout=job.budget.total_seconds(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        is_late = not work.done()
        if is_late:
            work.cancel()
            await asyncio.wait([work], timeout=CLEAN_UP_SECONDS)
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait([work])  # a shutdown waits for this until the grace period ends
        raise
    finally:
        is_lost = keeping.done()
        keeping.cancel()
    if is_lost:
        keeping.result()  # an unexpected error stops all cron jobs
    if is_late:
        outcome, is_failure = _late(job, is_lost=is_lost, is_running=not work.done()), True
        log.error("cron job failed", job=job.name, error=outcome)
    else:
        outcome, is_failure = _read_result(job, work)
    return _Ended(_end(lease.run, outcome, is_failure=is_failure), work)


def _read_result(job: CronJob, work: asyncio.Future[str]) -> tuple[str, bool]:
    """Return the outcome of a job that has ended, and whether it is a failure."""
    if work.cancelled():
        log.error("cron job failed", job=job.name, error="it was cancelled")
        return "it was cancelled", True
    try:
        return work.result(), False
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
        log.error("cron job failed", job=job.name, error=outcome, exc_info=error)
        return outcome, True


def _measure(run: CronRun) -> None:
    if run.ended_at:
        seconds = (run.ended_at - run.started_at).total_seconds()
        count_cron_run(run.job, is_failure=run.is_failure, seconds=seconds, at=run.ended_at)


def _end(started: CronRun, outcome: str, *, is_failure: bool = False) -> CronRun:
    return msgspec.structs.replace(
        started, ended_at=get_now(), outcome=outcome, is_failure=is_failure
    )


def _late(job: CronJob, *, is_lost: bool, is_running: bool) -> str:
    still = "; it was cancelled but is still running" if is_running else ""
    if is_lost:
        return f"stopped: its node could not report for too long, another one may run it{still}"
    return f"not finished within its budget of {format_duration(job.budget)}{still}"
