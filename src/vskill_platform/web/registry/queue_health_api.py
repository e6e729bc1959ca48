"""Queue statistics and health over the API.

Submissions are counted only if the caller may see them. All messages in the queue are counted,
because the waiting time depends on all of them, and their number reveals nothing about a skill.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from vskill_platform.catalogue.query import (
    ActivityBucket,
    Bucket,
    SubmissionQuery,
    SubmissionSort,
    Visible,
)
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.submission import IN_PROGRESS_STATES, StuckSubmission, SubmissionState
from vskill_platform.queue.health import Health, check_health
from vskill_platform.stores.db import get_now, get_queue, get_settings
from vskill_platform.stores.submission_store import (
    MAX_LISTED_STUCK,
    get_stuck_submissions,
    read_submissions,
)
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.headers import NO_STORE
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

_S = SubmissionState
_HOUR = timedelta(hours=1)
_HOURS = (1, 6)


class QueueNumbers(Shape, frozen=True, kw_only=True):
    """All counts are of submissions unless stated otherwise."""

    total: int
    active: int
    on_hold: int
    published: int
    rejected: int
    blocked: int
    withdrawn: int
    pending_received: int
    published_strict: int
    #: Without submissions that failed checks.
    rejected_strict: int
    by_state: dict[str, int]
    verified_skills: int
    #: Including taken-down skills.
    total_skills_all: int
    ready: int
    #: Running; the name is part of the API, as is that of background_in_work.
    in_work: int
    delayed: int
    dead: int
    delivered_last_minute: int
    #: Rescans and additions to the similarity index; not in the other counts.
    background_ready: int
    background_in_work: int
    background_delayed: int
    paused_until: datetime | None
    generated_at: datetime
    degraded: bool


class Age(Shape, frozen=True, kw_only=True):
    age_ms: int | None


class OldestActive(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    age_ms: int


class Orphaned(Shape, frozen=True, kw_only=True):
    """Stuck submissions; at most 1,000 are counted."""

    count: int
    oldest_id: str | None
    oldest_updated_at: datetime | None


class LastHeartbeat(Shape, frozen=True, kw_only=True):
    """The last heartbeat of any worker."""

    last_post_at: datetime | None
    age_ms: int | None


class WorkerHeartbeat(Shape, frozen=True, kw_only=True):
    node: str
    beat_at: datetime
    in_flight: int
    handled: int
    last_handled_at: datetime | None


class QueueHealth(Shape, frozen=True, kw_only=True):
    status: str
    problems: tuple[str, ...]
    stats_age: Age
    oldest_active: OldestActive | None
    oldest_ready_age_ms: int | None
    orphaned_active: Orphaned
    #: Approximate number of completed submissions in the last hours.
    drain_rate: dict[str, int]
    vm_heartbeat: LastHeartbeat
    workers: int
    #: The workers; for operators only.
    nodes: list[WorkerHeartbeat] | None
    reviews_waiting: int
    paused_until: datetime | None
    cached: bool = False


@operation(is_listed=True, cache_control=NO_STORE)
async def queue_stats(request: WebRequest) -> QueueNumbers:
    """Show the number of submissions and messages."""
    catalogue, visible = catalogue_of(request), await visible_to(visitor_of(request))
    counts, stats = await asyncio.gather(catalogue.count_all(visible=visible), get_queue().stats())
    by_state = counts.by_state
    return QueueNumbers(
        total=sum(by_state.values()),
        active=sum(by_state[state] for state in IN_PROGRESS_STATES),
        on_hold=by_state[_S.NEEDS_REVIEW],
        published=by_state[_S.PUBLISHED],
        rejected=by_state[_S.REJECTED] + by_state[_S.TIER1_FAILED],
        blocked=by_state[_S.BLOCKED],
        withdrawn=by_state[_S.DEQUEUED],
        pending_received=by_state[_S.RECEIVED],
        published_strict=by_state[_S.PUBLISHED],
        rejected_strict=by_state[_S.REJECTED],
        by_state={str(state): count for state, count in by_state.items()},
        verified_skills=counts.published,
        total_skills_all=counts.published + counts.taken_down,
        ready=stats.ready,
        in_work=stats.leased,
        delayed=stats.delayed,
        dead=stats.dead,
        delivered_last_minute=stats.delivered_last_minute,
        background_ready=stats.background.ready,
        background_in_work=stats.background.leased,
        background_delayed=stats.background.delayed,
        paused_until=stats.paused_until,
        generated_at=get_now(),
        degraded=catalogue.freshness.is_degraded,
    )


@operation(is_listed=True, cache_control=NO_STORE)
async def queue_health(request: WebRequest) -> QueueHealth:
    """Show whether submissions are being processed."""
    catalogue, visitor, now = catalogue_of(request), visitor_of(request), get_now()
    visible = await visible_to(visitor)
    health, stuck, activity, counts = await asyncio.gather(
        check_health(),
        _seen_stuck(visible, now),
        catalogue.activity(now - max(_HOURS) * _HOUR, Bucket.HOUR, visible=visible),
        catalogue.count_submissions(visible=visible),
    )
    ready_age = health.queue.oldest_ready_age
    return QueueHealth(
        status="UNHEALTHY" if health.problems else "DEGRADED" if stuck else "HEALTHY",
        problems=health.problems,
        stats_age=Age(age_ms=_milliseconds(catalogue.age) if catalogue.age is not None else None),
        oldest_active=await _oldest_active(request, visible, now),
        oldest_ready_age_ms=_milliseconds(ready_age) if ready_age is not None else None,
        orphaned_active=_orphaned(stuck),
        drain_rate={f"last{hours}h": _ended_within(activity, hours, now) for hours in _HOURS},
        vm_heartbeat=_last_sign(health, now),
        workers=len(health.workers),
        nodes=_nodes(health, visitor),
        reviews_waiting=counts[_S.NEEDS_REVIEW],
        paused_until=health.queue.paused_until,
    )


async def _seen_stuck(visible: Visible, now: datetime) -> list[StuckSubmission]:
    """Return stuck submissions; private ones only for visitors who may see everything."""
    stuck = await get_stuck_submissions(now, limit=MAX_LISTED_STUCK)
    if visible.is_all or not stuck:
        return stuck
    records = await read_submissions([one.id for one in stuck])
    return [one for one in stuck if one.id in records and not records[one.id].is_private]


async def _oldest_active(
    request: WebRequest, visible: Visible, now: datetime
) -> OldestActive | None:
    query = SubmissionQuery(
        states=tuple(IN_PROGRESS_STATES), sort=SubmissionSort.OLDEST, limit=1, visible=visible
    )
    rows = (await catalogue_of(request).list_submissions(query)).rows
    return next(
        (
            OldestActive(id=row.id, state=row.state, age_ms=_milliseconds(now - row.created_at))
            for row in rows
        ),
        None,
    )


def _orphaned(stuck: Sequence[StuckSubmission]) -> Orphaned:
    oldest = max(stuck, key=lambda one: one.stuck_for, default=None)
    return Orphaned(
        count=len(stuck),
        oldest_id=oldest.id if oldest else None,
        oldest_updated_at=oldest.updated_at if oldest else None,
    )


def _ended_within(activity: Sequence[ActivityBucket], hours: int, now: datetime) -> int:
    """Return the number of completed submissions in the last hours; the first is partial."""
    since = now - hours * _HOUR
    total = 0.0
    for bucket in activity:
        within = min(max((bucket.start + _HOUR - since) / _HOUR, 0.0), 1.0)
        total += within * sum(bucket.ended.values())
    return round(total)


def _last_sign(health: Health, now: datetime) -> LastHeartbeat:
    last = max((worker.beat_at for worker in health.workers), default=None)
    return LastHeartbeat(last_post_at=last, age_ms=_milliseconds(now - last) if last else None)


def _nodes(health: Health, visitor: Visitor) -> list[WorkerHeartbeat] | None:
    if not visitor.may(Right.OPERATE, get_settings()):
        return None
    return [
        WorkerHeartbeat(
            node=worker.node,
            beat_at=worker.beat_at,
            in_flight=worker.in_flight,
            handled=worker.handled,
            last_handled_at=worker.last_handled_at,
        )
        for worker in health.workers
    ]


def _milliseconds(length: timedelta) -> int:
    return max(0, round(length.total_seconds() * 1000))
