"""Looking after the queue: pause, resume, what stands still, what was given up."""

import asyncio

from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.engines.ports import DeadLetter
from vskill_platform.errors import InvalidInput
from vskill_platform.intake.dead_letters import drop_dead_letter, revive_dead_letter
from vskill_platform.intake.pause_queue import pause_queue, resume_queue
from vskill_platform.intake.requeue import requeue, requeue_all_stuck
from vskill_platform.queue.health import check_health
from vskill_platform.settings import parse_duration
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.submission_store import (
    MAX_LISTED_STUCK,
    get_stuck_submissions,
    get_submissions_fresh,
)
from vskill_platform.web.html.admin_forms import AdminRequest, act, admin_page
from vskill_platform.web.http.forms import read_fields
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/queue"
_LETTERS = 100


async def admin_queue_page(request: AdminRequest) -> Template:
    health, stuck, letters = await asyncio.gather(
        check_health(),
        get_stuck_submissions(get_now(), limit=MAX_LISTED_STUCK),
        get_queue().dead_letters(limit=_LETTERS),
    )
    context = {
        "health": health,
        "stuck": sorted(stuck, key=lambda one: one.stuck_for, reverse=True),
        "queued": await get_queue().pending([one.id for one in stuck]),
        "letters": await _with_names(letters),
    }
    return admin_page(request, "admin/queue.html", context)


async def pause_form(request: AdminRequest) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        try:
            duration = parse_duration(fields.get("duration", ""))
        except ValueError as error:
            raise InvalidInput(str(error)) from error
        until = await pause_queue(duration, actor=actor, reason=fields.get("reason", ""))
        return f"The queue is paused until {until:%H:%M} UTC." if until else "Not paused."

    return await act(_HERE, work)


async def resume_form(request: AdminRequest) -> Redirect:
    async def work() -> str:
        if await resume_queue(actor=visitor_of(request).name):
            return "The queue hands out work again."
        return "The queue was not paused."

    return await act(_HERE, work)


async def requeue_all_form(request: AdminRequest) -> Redirect:
    async def work() -> str:
        done, failed = await requeue_all_stuck(actor=visitor_of(request).name)
        not_done = f" {len(failed)} could not be: {'; '.join(failed[:3])}" if failed else ""
        return f"{len(done)} queued again.{not_done}"

    return await act(_HERE, work)


async def requeue_form(request: AdminRequest, submission_id: FromPath[str]) -> Redirect:
    async def work() -> str:
        submission = await requeue(submission_id, actor=visitor_of(request).name)
        return f"{submission.skill_name} is queued again."

    return await act(_HERE, work)


async def revive_form(request: AdminRequest, message_id: FromPath[int]) -> Redirect:
    async def work() -> str:
        submission = await revive_dead_letter(message_id, actor=visitor_of(request).name)
        return f"{submission.skill_name if submission else message_id} is queued again."

    return await act(_HERE, work)


async def drop_form(request: AdminRequest, message_id: FromPath[int]) -> Redirect:
    async def work() -> str:
        await drop_dead_letter(message_id, actor=visitor_of(request).name)
        return "The message is dropped; its submission keeps its end."

    return await act(_HERE, work)


async def _with_names(letters: list[DeadLetter]) -> list[tuple[DeadLetter, str, str]]:
    """Return each with the id and the name of its submission."""
    ids = [letter.key or "" for letter in letters]
    names = {one.id: one.skill_name for one in await get_submissions_fresh(ids)}
    return [
        (letter, one, names.get(one, one) or "(unknown)")
        for letter, one in zip(letters, ids, strict=True)
    ]
