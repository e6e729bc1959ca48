"""Looking whether the catalogue has what the records have; repairing it, and saying so.

The feed never skips a change, so there is nothing to find unless something is broken. This is
how anybody would know.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.fill import compare
from vskill_platform.catalogue.index_file import Shelf
from vskill_platform.catalogue.read_records import read_skill_changes, read_submission_changes
from vskill_platform.stores.skill_store import iterate_slugs
from vskill_platform.stores.submission_store import iterate_submission_ids

log = get_logger(__name__)

#: So many skills are read again in each check, suspect or not: trust grows with time, which no
#: change tells of.
READ_AGAIN = 500
_MAX_NAMED = 10

CatchUp = Callable[[], Awaitable[None]]


async def check(shelf: Shelf, catch_up: CatchUp, *, again_after: str) -> AsyncIterator[str]:
    """Check in small steps, between which the feed is followed; yield where to go on next time."""
    async for page in compare(iterate_slugs(), shelf.slugs_between):
        if page.missing or page.ghosts:
            await catch_up()
            await _repair_skills(shelf, {*page.missing, *page.ghosts})
        yield again_after
    async for page in compare(iterate_submission_ids(), shelf.submissions_between):
        if page.missing or page.ghosts:
            await catch_up()
            await _repair_submissions(shelf, {*page.missing, *page.ghosts})
        yield again_after
    slugs = await shelf.some_slugs(after=again_after, limit=READ_AGAIN)
    changes = await read_skill_changes(slugs)
    # What is gone the feed is about to tell; if it does not, the next check does, and says so.
    await shelf.write(skills=msgspec.structs.replace(changes, gone=()))
    yield slugs[-1] if slugs else ""


async def _repair_skills(shelf: Shelf, suspects: set[str]) -> None:
    """Write what is still amiss when every change was read: till then it may just be new."""
    changes = await read_skill_changes(suspects)
    wanted = {facts.skill.slug for facts in changes.listed} | {skill.slug for skill in changes.down}
    known = await shelf.slugs_between("", None)
    if amiss := wanted.symmetric_difference(known & suspects):
        await shelf.write(skills=changes)
        _report("skills", amiss)


async def _repair_submissions(shelf: Shelf, suspects: set[str]) -> None:
    changes = await read_submission_changes(suspects, ())
    wanted = {facts.submission.id for facts in changes.submissions}
    known = await shelf.submissions_between("", None)
    if amiss := wanted.symmetric_difference(known & suspects):
        await shelf.write(submissions=changes)
        _report("submissions", amiss)


def _report(what: str, amiss: set[str]) -> None:
    log.warning("catalogue repaired", what=what, count=len(amiss), first=sorted(amiss)[:_MAX_NAMED])
