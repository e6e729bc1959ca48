"""Manage the queue over the API: pause, stuck submissions, dead letters."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromQuery, JSONBody, PathParameter

from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.intake.pause_queue import MAX_PAUSE, pause_queue, resume_queue
from vskill_platform.intake.requeue import requeue_all_stuck, requeue_each
from vskill_platform.model.rights import Visitor
from vskill_platform.stores.background_store import read_background
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.submission_store import (
    get_stuck_submissions,
)
from vskill_platform.web.http.api_types import (
    Limit,
    Ok,
    Shape,
    Text,
    clamp,
    number_cursor,
    read_number,
)
from vskill_platform.web.http.headers import NO_STORE
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.manage_queue import MAX_LETTERS, shown_slug, without_private


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


class Resumed(Paused, frozen=True, kw_only=True):
    #: False if the queue was not paused.
    was_paused: bool


class RequeueRequest(Shape, frozen=True, kw_only=True):
    """Submissions by id, or `all` stuck ones."""

    ids: Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)] = ()
    all: bool = False


class Requeued(Shape, frozen=True, kw_only=True):
    requeued: list[str]
    #: Id and reason of each.
    failed: list[str]


class DeadLetterItem(Shape, frozen=True, kw_only=True):
    id: int
    submission_id: str | None
    #: The skill, if the message is about a rescan or the similarity index, not a submission.
    slug: str | None
    attempts: int
    reason: str
    buried_at: datetime


class DeadLetterList(Shape, frozen=True, kw_only=True):
    dead_letters: list[DeadLetterItem]
    next_cursor: str | None


@operation(cache_control=NO_STORE)
async def list_stuck(request: WebRequest) -> StuckList:
    """List stuck submissions."""
    found = await without_private(visitor_of(request), await get_stuck_submissions(get_now()))
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


async def requeue_over_api(request: WebRequest, data: JSONBody[RequeueRequest]) -> Requeued:
    """Requeue stuck submissions."""
    if data.all == bool(data.ids):
        raise InvalidInput("give ids, or all: true")
    actor = visitor_of(request).name
    done, failed = await (
        requeue_all_stuck(actor=actor) if data.all else requeue_each(data.ids, actor=actor)
    )
    return Requeued(requeued=[one.id for one in done], failed=failed)


async def pause_over_api(request: WebRequest, data: JSONBody[PauseRequest]) -> Paused:
    """Pause the queue for a limited time."""
    until = await pause_queue(
        timedelta(seconds=data.ttl_seconds), actor=visitor_of(request).name, reason=data.reason
    )
    return Paused(paused_until=until)


async def resume_over_api(request: WebRequest) -> Resumed:
    """Resume the queue."""
    was_paused = await resume_queue(actor=visitor_of(request).name)
    return Resumed(paused_until=None, was_paused=was_paused)


async def list_dead_letters(
    request: WebRequest, cursor: FromQuery[str | None] = None, limit: Limit = 50
) -> Response[DeadLetterList]:
    """List failed messages (dead letters). At most 100 at once."""
    size, headers = clamp(limit, MAX_LETTERS)
    # Read one more, to find out whether there is another page.
    found = await get_queue().dead_letters(after=read_number(cursor), limit=size + 1)
    letters = found[:size]
    answer = DeadLetterList(
        dead_letters=[await _letter_item(visitor_of(request), letter) for letter in letters],
        next_cursor=number_cursor(letters[-1].message_id if len(found) > size else None),
    )
    return Response(answer, headers=headers)


async def _letter_item(visitor: Visitor, letter: DeadLetter) -> DeadLetterItem:
    background = read_background(letter.body)
    return DeadLetterItem(
        id=letter.message_id,
        submission_id=None if background else letter.key,
        slug=await shown_slug(visitor, background.slug) if background else None,
        attempts=letter.attempts,
        reason=letter.reason,
        buried_at=letter.buried_at,
    )


async def requeue_letter_over_api(
    request: WebRequest, message_id: Annotated[int, PathParameter(ge=0, le=2**62)]
) -> Ok:
    """Requeue a failed message; its submission starts over."""
    await requeue_dead_letter(message_id, actor=visitor_of(request).name)
    return Ok()


async def drop_over_api(
    request: WebRequest, message_id: Annotated[int, PathParameter(ge=0, le=2**62)]
) -> Ok:
    """Delete a failed message; its submission does not change."""
    await drop_dead_letter(message_id, actor=visitor_of(request).name)
    return Ok()


def _milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)
