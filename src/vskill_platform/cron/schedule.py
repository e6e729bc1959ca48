"""The cron jobs: each runs on its own loop, with its own interval, budget and failure.

No job waits for another. A stop cancels all of them at once; one that ignores its cancellation is
abandoned after the stop grace, which is safe because every job can be repeated.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec

from vskill_platform.base.metrics import count_cron_run
from vskill_platform.base.telemetry import get_logger
from vskill_platform.cron.check_mirrors import check_mirrors
from vskill_platform.cron.check_repos import check_repos
from vskill_platform.cron.follow_repos import follow_repos
from vskill_platform.cron.index_similarity import send_missing_skills
from vskill_platform.cron.prune import prune
from vskill_platform.cron.recover_stuck import recover_stuck_submissions
from vskill_platform.cron.remind_reviews import remind_reviews
from vskill_platform.cron.rescan import send_rescans
from vskill_platform.cron.sweep_blobs import sweep_unused_blobs
from vskill_platform.engines.ports import ABSENT, Operation
from vskill_platform.errors import EngineError, Overtaken
from vskill_platform.events.deliver import has_events_to_send, send_events
from vskill_platform.events.send_mail import has_due_mails, send_due_mails
from vskill_platform.publish.moderation.current_policy import run_with_current_policy
from vskill_platform.publish.moderation.newest_rules import has_newest_rules
from vskill_platform.publish.moderation.rescan_skills import (
    new_one_rescan_request,
    write_rescan_request,
)
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.setting_values import format_duration
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.background_store import JOB_OF, RescanMessage, SimilarityMessage
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.cron_store import (
    CronRun,
    expect_no_cron_run,
    get_cron_run,
    put_cron_run,
)
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.external_scan_dispatch import release_dead_external_scans
from vskill_platform.stores.rescan_store import (
    OneRescanRequest,
    get_one_rescan_request,
    put_one_rescan_request,
)

log = get_logger(__name__)

#: How often a job's loop checks whether the job is due.
LOOK_EVERY_SECONDS = 5.0
#: How long a job may clean up after its budget, before it is reported as still running.
CLEAN_UP_SECONDS = 5.0
#: How long after its budget another node takes a job over.
_TAKEN_OVER_AFTER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    every: timedelta
    #: A job that takes longer is cancelled. It is also the lease: after this time other nodes
    #: consider an unfinished run dead.
    budget: timedelta
    run: Callable[[], Coroutine[Any, Any, str]]
    #: Whether only nodes with the newest rules and policy run it.
    needs_newest_rules: bool = False
    #: Tells whether there is work, so that it runs before its interval has passed.
    has_work: Callable[[], Coroutine[Any, Any, bool]] | None = None


async def _release_external_scans() -> str:
    return f"{await release_dead_external_scans()} ended"


#: Operators can start it, too; the shared record prevents parallel runs.
RESCAN = Job(
    JOB_OF[RescanMessage],
    timedelta(minutes=10),
    timedelta(minutes=9),
    send_rescans,
    needs_newest_rules=True,
)


async def _follow_repos() -> str:
    """Submit under the current policy, which limits the submissions of a publisher."""
    return await run_with_current_policy(follow_repos)


#: A push webhook starts it, too.
FOLLOW_REPOS = Job("follow-repos", timedelta(minutes=2), timedelta(seconds=110), _follow_repos)

JOBS = (
    Job("recover-stuck", timedelta(minutes=1), timedelta(seconds=50), recover_stuck_submissions),
    Job(
        "release-external-scans",
        timedelta(minutes=1),
        timedelta(seconds=50),
        _release_external_scans,
    ),
    Job("remind-reviews", timedelta(minutes=10), timedelta(minutes=1), remind_reviews),
    Job(
        "send-mail",
        timedelta(minutes=10),
        timedelta(minutes=5),
        send_due_mails,
        has_work=has_due_mails,
    ),
    Job(
        "send-events",
        timedelta(minutes=10),
        timedelta(minutes=5),
        send_events,
        has_work=has_events_to_send,
    ),
    Job("check-repos", timedelta(minutes=2), timedelta(seconds=110), check_repos),
    FOLLOW_REPOS,
    Job("check-mirrors", timedelta(minutes=5), timedelta(seconds=110), check_mirrors),
    Job("prune", timedelta(hours=1), timedelta(minutes=10), prune),
    Job("sweep-blobs", timedelta(hours=1), timedelta(minutes=30), sweep_unused_blobs),
    Job(JOB_OF[SimilarityMessage], timedelta(hours=1), timedelta(minutes=30), send_missing_skills),
    RESCAN,
)


def snapshot_job(share: Callable[[], Coroutine[Any, Any, str]]) -> Job:
    """Return the job of web nodes, which alone have a search index."""
    return Job("snapshot-index", timedelta(hours=6), timedelta(minutes=20), share)


async def run_cron(env: WorkerEnv, stop: asyncio.Event, *, jobs: Sequence[Job] = JOBS) -> None:
    """Run each job on its own loop until *stop* is set, then cancel what is still running."""
    loops = [asyncio.create_task(_run_loop(env, job), name=f"cron {job.name}") for job in jobs]
    stopping = asyncio.create_task(stop.wait())
    try:
        # A loop only ends by an unexpected error: then the platform stops and reports it.
        await asyncio.wait([stopping, *loops], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        late = await _cancel(loops, within=env.settings.stop_grace)
    for loop in late:
        log.error("cron job did not stop in time", job=loop.get_name())
    for loop in set(loops) - late:
        if not loop.cancelled():
            loop.result()


async def run_due_jobs(env: WorkerEnv, *, jobs: Sequence[Job] = JOBS) -> list[CronRun]:
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
    #: The job itself; not done if it ignores its cancellation.
    work: asyncio.Future[str]


async def _run_loop(env: WorkerEnv, job: Job) -> None:
    while True:
        run = await run_with_worker_env(env, partial(_run_if_due, job))
        if run and not run.work.done():  # never two of the same job in one process
            await asyncio.wait([run.work])
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _run_if_due(job: Job) -> _Ended | None:
    try:
        claimed = await _claim(job)
        if claimed is None:
            return None
        started, revision = claimed
        try:
            ended = await _run(job, started)
        except asyncio.CancelledError:
            # The next node that checks starts it again.
            stopped = _end(started, "stopped with its server; it will be restarted")
            asked = msgspec.structs.replace(stopped, asked_at=stopped.ended_at)
            await put_cron_run(asked, expected=revision)
            raise
        _measure(ended.record)
        await put_cron_run(ended.record, expected=revision)
    except EngineError as error:
        log.error(
            "cron job not recorded, the database does not answer", job=job.name, error=str(error)
        )
        return None
    return ended


async def run_job_now(job: Job) -> CronRun:
    """Run a job that is not due; if it is already running anywhere, let it continue."""
    now, last = get_now(), await get_cron_run(job.name)
    if last and last.record.ended_at is None and abs(now - last.record.started_at) < job.budget:
        raise _is_running(last.record, job)
    started = CronRun(job=job.name, node=get_settings().node, started_at=now)
    revision = await put_cron_run(started, expected=last.revision if last else ABSENT)
    if revision is None:
        raise _is_running(started, job)
    try:
        record = (await _run(job, started)).record
    except asyncio.CancelledError:
        await put_cron_run(_end(started, "interrupted"), expected=revision)
        raise
    await put_cron_run(record, expected=revision)
    return record


async def ask_for_run(job: Job, *, actor: str, also: Sequence[Operation] = ()) -> None:
    """Make a job due, so that the next node that checks runs it; the audit log has the actor."""
    await _make_due(job, [write_audit(job.name, "all", actor=actor, reason=""), *also])


async def _make_due(job: Job, operations: Sequence[Operation] = ()) -> None:
    now, last = get_now(), await get_cron_run(job.name)
    if last is None:  # then it is due anyway
        is_asked = await commit([expect_no_cron_run(job.name), *operations])
    elif last.record.ended_at is None and abs(now - last.record.started_at) < job.budget:
        raise _is_running(last.record, job)
    else:
        asked = msgspec.structs.replace(last.record, asked_at=now)
        is_asked = await put_cron_run(asked, expected=last.revision, also=operations)
    if is_asked is None:
        raise Overtaken(f"{job.name} has just been started; wait for it")


async def ask_to_follow_repos() -> None:
    """Check the followed repositories that are due soon, not at the next interval."""
    with suppress(Overtaken):  # the next run is at most two minutes away
        await _make_due(FOLLOW_REPOS)


async def ask_for_rescan(*, actor: str) -> None:
    """Make the next run check everything again; a running job must finish first."""
    # In the same commit that makes the job due: a run between two commits would drop the request.
    await ask_for_run(RESCAN, actor=actor, also=[write_rescan_request(actor)])


async def ask_for_one_rescan(slug: str, *, actor: str) -> OneRescanRequest:
    """Have one skill checked again soon; while a request for it is open, return that one."""

    async def plan() -> PlannedChange[OneRescanRequest]:
        if stored := await get_one_rescan_request(slug):
            return PlannedChange(result=stored.record)
        asked = new_one_rescan_request(slug, actor)
        audit = write_audit(RESCAN.name, slug, actor=actor, reason="", outcome=asked.id)
        return PlannedChange(operations=[put_one_rescan_request(asked), audit], result=asked)

    asked = await change(f"the rescan of {slug}", plan)
    with suppress(Overtaken):  # the run after the current one sees the request
        await _make_due(RESCAN)
    return asked


def _is_running(run: CronRun, job: Job) -> Overtaken:
    until = run.started_at + job.budget
    return Overtaken(
        f"another {job.name} has been running since {run.started_at:%H:%M:%S} UTC; wait for it, or "
        f"until {until:%H:%M:%S} UTC if it was killed"
    )


async def _claim(job: Job) -> tuple[CronRun, int] | None:
    """Start a run if it is due; of several nodes only one succeeds."""
    now = get_now()
    last = await get_cron_run(job.name)
    # The absolute difference: after the clock jumped back, the last start is in the future.
    since = abs(now - last.record.started_at) if last else job.every
    # A run that has neither ended nor been cancelled by then died with its node.
    is_dead = last and last.record.ended_at is None and since > job.budget + _TAKEN_OVER_AFTER
    if last and since < job.every and not (last.record.asked_at or is_dead):
        has_ended = last.record.ended_at is not None
        if not (has_ended and job.has_work and await job.has_work()):
            return None
    # Before the claim, so that the node with the newest rules need not wait for the next interval.
    if job.needs_newest_rules and not await has_newest_rules():
        return None
    run = CronRun(job=job.name, node=get_settings().node, started_at=now)
    revision = await put_cron_run(run, expected=last.revision if last else ABSENT)
    return (run, revision) if revision is not None else None


async def _run(job: Job, started: CronRun) -> _Ended:
    """Run the job within its budget; wait only briefly if it ignores its cancellation."""
    work = asyncio.ensure_future(job.run())
    try:
        await asyncio.wait([work], timeout=job.budget.total_seconds())
        is_late = not work.done()
        if is_late:
            work.cancel()
            await asyncio.wait([work], timeout=CLEAN_UP_SECONDS)
    except asyncio.CancelledError:
        work.cancel()
        await asyncio.wait([work])  # a shutdown waits for this until the grace period ends
        raise
    if is_late:
        outcome, is_failure = _late(job, is_running=not work.done()), True
        log.error("cron job failed", job=job.name, error=outcome)
    elif work.cancelled():
        outcome, is_failure = "it was cancelled", True
        log.error("cron job failed", job=job.name, error=outcome)
    else:
        try:
            outcome, is_failure = work.result(), False
        except Exception as error:
            outcome, is_failure = f"{type(error).__name__}: {error}", True
            log.error("cron job failed", job=job.name, error=outcome, exc_info=error)
    return _Ended(_end(started, outcome, is_failure=is_failure), work)


def _measure(run: CronRun) -> None:
    if run.ended_at:
        seconds = (run.ended_at - run.started_at).total_seconds()
        count_cron_run(run.job, is_failure=run.is_failure, seconds=seconds, at=run.ended_at)


def _end(started: CronRun, outcome: str, *, is_failure: bool = False) -> CronRun:
    return msgspec.structs.replace(
        started, ended_at=get_now(), outcome=outcome, is_failure=is_failure
    )


def _late(job: Job, *, is_running: bool) -> str:
    still = "; it was cancelled but is still running" if is_running else ""
    return f"not finished within its budget of {format_duration(job.budget)}{still}"
