"""The page that manages the queue: pause, stuck submissions, dead letters."""

import asyncio
from typing import NamedTuple

import msgspec
from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.access.visibility import can_see_skill, can_see_submission
from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.dead_letters import drop_dead_letter, requeue_dead_letter
from vskill_platform.intake.pause_queue import pause_queue, resume_queue
from vskill_platform.intake.requeue import requeue, requeue_all_stuck
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
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/queue"
_LETTERS = 100
MAX_LETTERS = 100
#: Shown in place of a name that the visitor may not see.
PRIVATE = "(private)"


async def admin_queue_page(request: WebRequest) -> Template:
    visitor = visitor_of(request)
    health, stuck, letters = await asyncio.gather(
        check_health(),
        get_stuck_submissions(get_now(), limit=MAX_LISTED_STUCK),
        get_queue().dead_letters(limit=_LETTERS),
    )
    stuck = await without_private(visitor, stuck)
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


class _DeadLetterRow(NamedTuple):
    """A dead letter, with the page and the name of its subject."""

    letter: DeadLetter
    href: str
    name: str


async def _with_names(visitor: Visitor, letters: list[DeadLetter]) -> list[_DeadLetterRow]:
    ids = [letter.key or "" for letter in letters]
    names = {
        one.id: one.skill_name if await can_see_submission(visitor, one) else PRIVATE
        for one in await get_submissions_fresh(ids)
    }

    async def describe(letter: DeadLetter, submission_id: str) -> _DeadLetterRow:
        background = read_background(letter.body)
        if background is not None:
            slug = await shown_slug(visitor, background.slug)
            href = "/skills" if slug == PRIVATE else f"/skills/{slug}"
            is_rescan = isinstance(background, RescanMessage)
            return _DeadLetterRow(
                letter, href, f"{'Rescan of' if is_rescan else 'Similarity index:'} {slug}"
            )
        name = names.get(submission_id, submission_id) or "(unknown)"
        return _DeadLetterRow(letter, f"/submissions/{submission_id}", name)

    return [await describe(letter, one) for letter, one in zip(letters, ids, strict=True)]


async def shown_slug(visitor: Visitor, slug: str) -> str:
    """Return a slug, unless it is of a private skill that the visitor (or token) may not see."""
    stored = await get_skill(await resolve_slug(slug))
    is_seen = stored is None or await can_see_skill(visitor, stored.record)
    return slug if is_seen else PRIVATE


async def without_private(visitor: Visitor, stuck: list[StuckSubmission]) -> list[StuckSubmission]:
    """Leave out the names of private submissions that the visitor may not see."""
    if visitor.can_see_all or not stuck:
        return stuck
    records = await read_submissions([one.id for one in stuck])
    hidden = {one.id for one in records.values() if not await can_see_submission(visitor, one)}
    return [
        msgspec.structs.replace(one, skill_name=PRIVATE, repo_url="", skill_path="")
        if one.id in hidden
        else one
        for one in stuck
    ]
