"""The queue over the API: how it is, and looking after it."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from litestar import Request, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.status_codes import HTTP_200_OK

from vskill_platform.catalogue.query import EVERYTHING, Bucket
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.dead_letters import drop_dead_letter, revive_dead_letter
from vskill_platform.intake.pause_queue import MAX_PAUSE, pause_queue, resume_queue
from vskill_platform.intake.requeue import requeue, requeue_all_stuck
from vskill_platform.model.access import Right
from vskill_platform.model.submission import STUCK_STATES, SubmissionState
from vskill_platform.queue.health import check_health
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.submission_store import get_stuck_submissions, read_message
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.api.shapes import Shape, Text
from vskill_platform.web.api.skill_shapes import Ok
from vskill_platform.web.catalogue_access import catalogue_of

ApiRequest = Request[Any, Any, Any]
_READ, _OPERATE = {"right": Right.ANYONE}, {"right": Right.OPERATE}
_TAGS = ["Queue"]
_S = SubmissionState
_HOURS = (1, 6)


class QueueNumbers(Shape, frozen=True, kw_only=True):
    """Every count is taken from the submissions themselves."""

    total: int
    active: int
    on_hold: int
    published: int
    rejected: int
    blocked: int
    withdrawn: int
    verified_skills: int
    by_state: dict[str, int]
    ready: int
    in_work: int
    delayed: int
    dead: int
    delivered_last_minute: int
    paused_until: datetime | None
    generated_at: datetime
    degraded: bool


class OldestActive(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    age_ms: int


class WorkerSign(Shape, frozen=True, kw_only=True):
    node: str
    beat_at: datetime
    in_flight: int
    handled: int
    last_handled_at: datetime | None


class QueueHealth(Shape, frozen=True, kw_only=True):
    status: str
    problems: tuple[str, ...]
    oldest_ready_age_ms: int | None
    oldest_stuck: OldestActive | None
    stuck: int
    drain_rate: dict[str, int]
    workers: list[WorkerSign]
    reviews_waiting: int
    paused_until: datetime | None


class StuckItem(Shape, frozen=True, kw_only=True):
    id: str
    state: str
    skill_name: str
    repo_url: str
    updated_at: datetime
    stuck_for_ms: int


class StuckList(Shape, frozen=True, kw_only=True):
    stuck: list[StuckItem]
    count: int


class PauseRequest(Shape, frozen=True, kw_only=True):
    ttl_seconds: Annotated[int, msgspec.Meta(ge=1, le=int(MAX_PAUSE.total_seconds()))] = 3600
    reason: Text = ""


class Paused(Shape, frozen=True, kw_only=True):
    paused_until: datetime | None


class RequeueRequest(Shape, frozen=True, kw_only=True):
    """Some by their ids, or `all` that stand still."""

    ids: Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)] = ()
    all: bool = False


class Requeued(Shape, frozen=True, kw_only=True):
    requeued: list[str]
    failed: list[str]


class LetterItem(Shape, frozen=True, kw_only=True):
    id: int
    submission_id: str
    attempts: int
    reason: str
    buried_at: datetime


class LetterList(Shape, frozen=True, kw_only=True):
    dead_letters: list[LetterItem]
    next_after: int | None


@get(["/queue/stats", "/submissions/stats"], opt=_READ, tags=_TAGS)
async def queue_stats(request: ApiRequest) -> QueueNumbers:
    """Count submissions and messages."""
    catalogue = catalogue_of(request)
    counts, stats = await asyncio.gather(
        catalogue.count_all(visible=EVERYTHING), get_queue().stats()
    )
    by_state = counts.by_state
    return QueueNumbers(
        total=sum(by_state.values()),
        active=sum(by_state[state] for state in STUCK_STATES),
        on_hold=by_state[_S.NEEDS_REVIEW],
        published=by_state[_S.PUBLISHED],
        rejected=by_state[_S.REJECTED] + by_state[_S.TIER1_FAILED],
        blocked=by_state[_S.BLOCKED],
        withdrawn=by_state[_S.DEQUEUED],
        verified_skills=counts.published,
        by_state={str(state): count for state, count in by_state.items()},
        ready=stats.ready,
        in_work=stats.leased,
        delayed=stats.delayed,
        dead=stats.dead,
        delivered_last_minute=stats.delivered_last_minute,
        paused_until=stats.paused_until,
        generated_at=get_now(),
        degraded=catalogue.freshness.is_degraded,
    )


@get("/queue/health", opt=_READ, tags=_TAGS)
async def queue_health(request: ApiRequest) -> QueueHealth:
    """Say whether work gets done: alive is not enough."""
    catalogue, now = catalogue_of(request), get_now()
    health, stuck, activity = await asyncio.gather(
        check_health(),
        get_stuck_submissions(now),
        catalogue.activity(now - timedelta(hours=max(_HOURS)), Bucket.HOUR),
    )
    oldest = max(stuck, key=lambda one: one.stuck_for, default=None)
    age = health.queue.oldest_ready_age
    ended = [(bucket.start, sum(bucket.ended.values())) for bucket in activity]
    return QueueHealth(
        status="UNHEALTHY" if health.problems else "DEGRADED" if stuck else "HEALTHY",
        problems=health.problems,
        oldest_ready_age_ms=_milliseconds(age) if age is not None else None,
        oldest_stuck=OldestActive(
            id=oldest.id, state=oldest.state, age_ms=_milliseconds(oldest.stuck_for)
        )
        if oldest
        else None,
        stuck=len(stuck),
        drain_rate={
            f"last{hours}h": sum(
                count for start, count in ended if start >= now - timedelta(hours=hours)
            )
            for hours in _HOURS
        },
        workers=[
            WorkerSign(
                node=worker.node,
                beat_at=worker.beat_at,
                in_flight=worker.in_flight,
                handled=worker.handled,
                last_handled_at=worker.last_handled_at,
            )
            for worker in health.workers
        ],
        reviews_waiting=health.reviews.count,
        paused_until=health.queue.paused_until,
    )


@get("/queue/stuck", opt=_OPERATE, tags=_TAGS)
async def list_stuck() -> StuckList:
    """List what stands still."""
    found = await get_stuck_submissions(get_now())
    return StuckList(
        stuck=[
            StuckItem(
                id=one.id,
                state=one.state,
                skill_name=one.skill_name,
                repo_url=one.repo_url,
                updated_at=one.updated_at,
                stuck_for_ms=_milliseconds(one.stuck_for),
            )
            for one in found
        ],
        count=len(found),
    )


@post("/queue/requeue", opt=_OPERATE, tags=_TAGS, status_code=HTTP_200_OK)
async def requeue_over_api(request: ApiRequest, data: JSONBody[RequeueRequest]) -> Requeued:
    """Bring what stands still back to its beginning."""
    if data.all == bool(data.ids):
        raise InvalidInput("give ids, or all: true")
    actor = visitor_of(request).name
    if data.all:
        done, failed = await requeue_all_stuck(actor=actor)
        return Requeued(requeued=[one.id for one in done], failed=failed)
    return Requeued(requeued=[(await requeue(one, actor=actor)).id for one in data.ids], failed=[])


@post("/queue/pause", opt=_OPERATE, tags=_TAGS, status_code=HTTP_200_OK)
async def pause_over_api(request: ApiRequest, data: JSONBody[PauseRequest]) -> Paused:
    """Hand out no work for a while; it ends by itself."""
    until = await pause_queue(
        timedelta(seconds=data.ttl_seconds), actor=visitor_of(request).name, reason=data.reason
    )
    return Paused(paused_until=until)


@delete("/queue/pause", opt=_OPERATE, tags=_TAGS, status_code=HTTP_200_OK)
async def resume_over_api(request: ApiRequest) -> Paused:
    """End a pause."""
    await resume_queue(actor=visitor_of(request).name)
    return Paused(paused_until=None)


@get("/queue/dead-letters", opt=_OPERATE, tags=_TAGS)
async def list_dead_letters(
    after: Annotated[int, QueryParameter(ge=0, le=2**62)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
) -> LetterList:
    """List messages that were given up."""
    letters = await get_queue().dead_letters(after=after, limit=limit)
    return LetterList(
        dead_letters=[
            LetterItem(
                id=letter.message_id,
                submission_id=read_message(letter.body).submission_id,
                attempts=letter.attempts,
                reason=letter.reason,
                buried_at=letter.buried_at,
            )
            for letter in letters
        ],
        next_after=letters[-1].message_id if len(letters) == limit else None,
    )


@post(
    "/queue/dead-letters/{message_id:int}/revive", opt=_OPERATE, tags=_TAGS, status_code=HTTP_200_OK
)
async def revive_over_api(
    request: ApiRequest, message_id: Annotated[int, PathParameter(ge=0, le=2**62)]
) -> Ok:
    """Queue one again; its submission starts over."""
    await revive_dead_letter(message_id, actor=visitor_of(request).name)
    return Ok()


@delete("/queue/dead-letters/{message_id:int}", opt=_OPERATE, tags=_TAGS, status_code=HTTP_200_OK)
async def drop_over_api(
    request: ApiRequest, message_id: Annotated[int, PathParameter(ge=0, le=2**62)]
) -> Ok:
    """Throw one away; its submission keeps its end."""
    await drop_dead_letter(message_id, actor=visitor_of(request).name)
    return Ok()


def _milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)
