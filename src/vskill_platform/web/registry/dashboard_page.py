"""The admin dashboard: throughput, results, nodes, workers, scheduled jobs and alarms."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from litestar.response import Template

from vskill_platform.base.show_text import count_of
from vskill_platform.catalogue.query import EVERYTHING, ActivityBucket, Bucket, Freshness
from vskill_platform.cron.nodes import find_differences
from vskill_platform.cron.schedule import JOBS
from vskill_platform.model.submission import TERMINAL_STATES, SubmissionState
from vskill_platform.queue.health import Health, check_health
from vskill_platform.stores.cron_store import CronRun, get_cron_runs
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.node_store import get_nodes
from vskill_platform.stores.policy_store import get_current
from vskill_platform.stores.submission_store import MAX_LISTED_STUCK, get_stuck_submissions
from vskill_platform.web.html.charts import Plot, Series, stacked_bars
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of
from vskill_platform.web.registry.disk_use import measure_database, measure_disks

_S = SubmissionState
_HOURS = 24
#: A job is overdue after this many intervals.
_LATE_AFTER = 3
_RECENT = timedelta(minutes=15)


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled job: its last run, and whether there is a problem."""

    name: str
    every: timedelta
    run: CronRun | None
    problem: str


async def dashboard_page(request: WebRequest) -> Template:
    catalogue, now = catalogue_of(request), get_now()
    since = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=_HOURS - 1)
    health, counts, stuck, activity, runs, nodes = await asyncio.gather(
        check_health(),
        catalogue.count_all(visible=EVERYTHING),
        get_stuck_submissions(now, limit=MAX_LISTED_STUCK),
        catalogue.activity(since, Bucket.HOUR, visible=EVERYTHING),
        get_cron_runs(),
        get_nodes(),
    )
    jobs = _job_statuses(runs, now)
    policy = await get_current()
    saved_at = policy.record.at if policy else None
    differences = find_differences(nodes, policy_saved_at=saved_at)
    context = {
        "health": health,
        "counts": counts,
        "stuck": len(stuck),
        "jobs": jobs,
        "nodes": nodes,
        "alarms": [
            *_alarms(health, catalogue.freshness, jobs, stuck=len(stuck)),
            *((difference, "/admin") for difference in differences),
        ],
        "throughput": _throughput(activity),
        "database_bytes": measure_database(get_settings()),
        "disks": measure_disks(get_settings()),
        "scan_times": _scan_times(activity),
        "ended": sum(
            bucket.ended.get(state, 0) for bucket in activity for state in TERMINAL_STATES
        ),
    }
    return admin_page(request, "admin/dashboard.html", context)


def _alarms(
    health: Health, freshness: Freshness, jobs: list[JobStatus], *, stuck: int
) -> list[tuple[str, str]]:
    """Return the problems that need action, with links."""
    alarms = [
        (f"{problem[:1].upper()}{problem[1:]}.", "/admin/queue") for problem in health.problems
    ]
    if not health.workers:
        alarms.append(("No worker is running: submissions are not processed.", "/admin/queue"))
    if health.queue.paused_until:
        until = f"{health.queue.paused_until:%H:%M} UTC"
        alarms.append((f"The queue is paused until {until}.", "/admin/queue"))
    elif stuck:
        alarms.append((f"{count_of(stuck, 'submission')} stuck.", "/admin/queue"))
    if dead := health.queue.dead:
        alarms.append((f"{count_of(dead, 'message')} failed (dead letter).", "/admin/queue"))
    if freshness.is_degraded:
        why = freshness.problem or "the search index is catching up"
        alarms.append((f"Lists and searches may be out of date: {why}.", "/admin"))
    alarms += [
        (f"Scheduled job {job.name}: {job.problem}.", "/admin") for job in jobs if job.problem
    ]
    return alarms


def _job_statuses(runs: list[CronRun], now: datetime) -> list[JobStatus]:
    known = {run.job: run for run in runs}
    return [
        JobStatus(
            name=job.name,
            every=job.every,
            run=known.get(job.name),
            problem=_job_problem(known.get(job.name), job.every, now),
        )
        for job in JOBS
    ]


def _job_problem(run: CronRun | None, every: timedelta, now: datetime) -> str:
    if run is None:
        return ""  # not due yet
    if run.is_failure:
        return f"failed: {run.outcome}"
    if now - run.started_at > every * _LATE_AFTER + _RECENT:
        return "is overdue"
    return ""


def _throughput(activity: list[ActivityBucket]) -> Plot:
    def ended(*states: SubmissionState) -> tuple[float, ...]:
        return tuple(sum(bucket.ended.get(state, 0) for state in states) for bucket in activity)

    series = [
        Series("published", "good", ended(_S.PUBLISHED)),
        Series("needs review", "info", ended(_S.NEEDS_REVIEW)),
        Series("failed or rejected", "warn", ended(_S.TIER1_FAILED, _S.REJECTED, _S.DEQUEUED)),
        Series("blocked", "bad", ended(_S.BLOCKED)),
    ]
    return stacked_bars(_hours(activity), series)


def _scan_times(activity: list[ActivityBucket]) -> Plot:
    """Stack the difference on the median, so that the total is the 95th percentile."""

    def seconds(read: Callable[[ActivityBucket], float | None]) -> tuple[float, ...]:
        return tuple(round(read(bucket) or 0, 3) for bucket in activity)

    medians = seconds(lambda bucket: bucket.scan_median)
    highest = seconds(lambda bucket: bucket.scan_p95)
    beyond = tuple(max(0.0, round(p95 - p50, 3)) for p50, p95 in zip(medians, highest, strict=True))
    series = [Series("median", "info", medians), Series("median to p95", "warn", beyond)]
    return stacked_bars(_hours(activity), series, has_totals=False)


def _hours(activity: list[ActivityBucket]) -> list[str]:
    return [f"{bucket.start:%H:%M}" for bucket in activity]
