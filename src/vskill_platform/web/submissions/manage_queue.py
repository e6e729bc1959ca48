"""Managing the queue, as a page and over the API: pause, stuck submissions, dead letters."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody, PathParameter
from litestar.response import Redirect, Template

from vskill_platform.access.visibility import sees_skill, sees_submission
from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.intake.pause_queue import MAX_PAUSE, pause_queue, resume_queue
from vskill_platform.intake.requeue import requeue, requeue_all_stuck, requeue_each
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import StuckSubmission
from vskill_platform.queue.health import check_health
from vskill_platform.setting_values import parse_duration
from vskill_platform.stores.background_store import RescanMessage, read_background
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import (
    MAX_LISTED_STUCK,
    get_stuck_submissions,
    get_submissions_fresh,
    read_submissions,
)
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import (
    Limit,
    Ok,
    Shape,
    Text,
    clamp,
    number_cursor,
    read_number,
)
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.headers import NO_STORE
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/queue"
_LETTERS = 100
_MAX_LETTERS = 100
#: Instead of a name that the visitor may not see.
PRIVATE = "(private)"


async def admin_queue_page(request: WebRequest) -> Template:
    visitor = visitor_of(request)
    health, stuck, letters = await asyncio.gather(
        check_health(),
        get_stuck_submissions(get_now(), limit=MAX_LISTED_STUCK),
        get_queue().dead_letters(limit=_LETTERS),
    )
    stuck = await _without_private(visitor, stuck)
    context = {
        "health": health,
        "stuck": sorted(stuck, key=lambda one: one.stuck_for, reverse=True),
        "queued": await get_queue().pending([one.id for one in stuck]),
        "letters": await _with_names(visitor, letters),
    }
    return admin_page(request, "admin/queue.html", context)


async def pause_form(request: WebRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        try:
            duration = parse_duration(fields.get("duration", ""))
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        until = await pause_queue(duration, actor=actor, reason=fields.get("reason", ""))
        return f"The queue is paused until {until:%H:%M} UTC." if until else "Not paused."

    return await act(_HERE, work)


async def resume_form(request: WebRequest) -> Redirect:
    async def work() -> str:
        if await resume_queue(actor=visitor_of(request).name):
            return "The queue is running again."
        return "The queue was not paused."

    return await act(_HERE, work)


async def requeue_all_form(request: WebRequest) -> Redirect:
    async def work() -> str:
        done, failed = await requeue_all_stuck(actor=visitor_of(request).name)
        not_done = f" {len(failed)} failed: {'; '.join(failed[:3])}" if failed else ""
        return f"{len(done)} requeued.{not_done}"

    return await act(_HERE, work)


async def requeue_form(request: WebRequest, submission_id: FromPath[str]) -> Redirect:
    async def work() -> str:
        submission = await requeue(submission_id, actor=visitor_of(request).name)
        return f"{submission.skill_name} was requeued."

    return await act(_HERE, work)


async def requeue_letter_form(request: WebRequest, message_id: FromPath[int]) -> Redirect:
    async def work() -> str:
        submission = await requeue_dead_letter(message_id, actor=visitor_of(request).name)
        return f"{submission.skill_name if submission else f'Message {message_id}'} was requeued."

    return await act(_HERE, work)


async def drop_form(request: WebRequest, message_id: FromPath[int]) -> Redirect:
    async def work() -> str:
        await drop_dead_letter(message_id, actor=visitor_of(request).name)
        return "The message was deleted; its submission stays as it is."

    return await act(_HERE, work)


class _Letter(NamedTuple):
    """A dead letter, and the page and the name of what it is about."""

    letter: DeadLetter
    href: str
    name: str


async def _with_names(visitor: Visitor, letters: list[DeadLetter]) -> list[_Letter]:
    ids = [letter.key or "" for letter in letters]
    names = {
        one.id: one.skill_name if await sees_submission(visitor, one) else PRIVATE
        for one in await get_submissions_fresh(ids)
    }

    async def describe(letter: DeadLetter, submission_id: str) -> _Letter:
        background = read_background(letter.body)
        if background is not None:
            slug = await _shown_slug(visitor, background.slug)
            href = "/skills" if slug == PRIVATE else f"/skills/{slug}"
            is_rescan = isinstance(background, RescanMessage)
            return _Letter(
                letter, href, f"{'Rescan of' if is_rescan else 'Similarity index:'} {slug}"
            )
        name = names.get(submission_id, submission_id) or "(unknown)"
        return _Letter(letter, f"/submissions/{submission_id}", name)

    return [await describe(letter, one) for letter, one in zip(letters, ids, strict=True)]


async def _shown_slug(visitor: Visitor, slug: str) -> str:
    """Return a slug; not of a private skill that the visitor does not see: a token may not."""
    stored = await get_skill(await resolve_slug(slug))
    is_seen = stored is None or await sees_skill(visitor, stored.record)
    return slug if is_seen else PRIVATE


async def _without_private(visitor: Visitor, stuck: list[StuckSubmission]) -> list[StuckSubmission]:
    """Leave out the names of private submissions that the visitor does not see."""
    if visitor.sees_all or not stuck:
        return stuck
    records = await read_submissions([one.id for one in stuck])
    hidden = {one.id for one in records.values() if not await sees_submission(visitor, one)}
    return [
        msgspec.structs.replace(one, skill_name=PRIVATE, repo_url="", skill_path="")
        if one.id in hidden
        else one
        for one in stuck
    ]


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


class LetterItem(Shape, frozen=True, kw_only=True):
    id: int
    submission_id: str | None
    #: The skill, if it is about a rescan or the similarity index and not about a submission.
    slug: str | None
    attempts: int
    reason: str
    buried_at: datetime


class LetterList(Shape, frozen=True, kw_only=True):
    dead_letters: list[LetterItem]
    next_cursor: str | None


@operation(cache_control=NO_STORE)
async def list_stuck(request: WebRequest) -> StuckList:
    """List stuck submissions."""
    found = await _without_private(visitor_of(request), await get_stuck_submissions(get_now()))
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
) -> Response[LetterList]:
    """List failed messages (dead letters). At most 100 at once."""
    size, headers = clamp(limit, _MAX_LETTERS)
    # Read one more, to know whether there is another page.
    found = await get_queue().dead_letters(after=read_number(cursor), limit=size + 1)
    letters = found[:size]
    answer = LetterList(
        dead_letters=[await _letter_item(visitor_of(request), letter) for letter in letters],
        next_cursor=number_cursor(letters[-1].message_id if len(found) > size else None),
    )
    return Response(answer, headers=headers)


async def _letter_item(visitor: Visitor, letter: DeadLetter) -> LetterItem:
    background = read_background(letter.body)
    return LetterItem(
        id=letter.message_id,
        submission_id=None if background else letter.key,
        slug=await _shown_slug(visitor, background.slug) if background else None,
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
    """Delete a failed message; its submission stays as it is."""
    await drop_dead_letter(message_id, actor=visitor_of(request).name)
    return Ok()


def _milliseconds(length: timedelta) -> int:
    return round(length.total_seconds() * 1000)
