"""Cron job: compare mirrored skills with the registries they came from, and submit new versions."""

from collections.abc import Sequence

from vskill_platform.base.settle import settle
from vskill_platform.base.show_text import count_of
from vskill_platform.base.stopwatch import Stopwatch
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import MirrorRefused, NotFound, SkillDeleted, SourceError
from vskill_platform.intake.mirror_skill import (
    check_not_deleted,
    compare,
    find_mirror_target,
    has_room,
    postpone,
)
from vskill_platform.stores.db import check_free_space, get_now, get_settings
from vskill_platform.stores.mirror_store import get_mirrored, list_due_mirrored

log = get_logger(__name__)

#: How many records one run reads; those that it has no time to compare stay due.
_SKILLS_A_RUN = 500
_MIRRORS_AT_ONCE = 4
#: No comparison starts after this, so that the last ones finish within the job's budget.
_SECONDS_A_RUN = 60.0
#: Expected failures of another registry; the record contains the reason.
_EXPECTED = (NotFound, MirrorRefused, SourceError)


async def check_mirrors() -> str:
    """Compare the mirrored skills that are due; one mirror that fails does not delay the others."""
    by_mirror = await _list_due()
    stopwatch, compared, failed = Stopwatch(), 0, 0

    async def check_in_time(slug: str) -> None:
        nonlocal compared
        if stopwatch.total_seconds < _SECONDS_A_RUN:
            compared += await _check_skill(slug)

    async def check_mirror(slugs: Sequence[str]) -> None:
        nonlocal failed
        at_once = max(1, get_settings().fetches_per_host)
        for outcome in await settle(check_in_time, slugs, at_once=at_once):
            if isinstance(outcome, _EXPECTED):
                failed += 1
            elif isinstance(outcome, Exception):
                failed += 1
                log.error("mirrored skill not compared", error=repr(outcome))

    for outcome in await settle(check_mirror, by_mirror.values(), at_once=_MIRRORS_AT_ONCE):
        if isinstance(outcome, Exception):
            raise outcome
    due = count_of(sum(map(len, by_mirror.values())), "skill")
    return f"{compared} of {due} compared, {failed} failed"


async def _list_due() -> dict[str, list[str]]:
    """Return the slugs of each mirror that are due."""
    due = await list_due_mirrored(get_now(), limit=_SKILLS_A_RUN)
    if due:
        await check_free_space()  # do not fetch what cannot be stored
    by_mirror: dict[str, list[str]] = {}
    for skill in due:
        by_mirror.setdefault(skill.mirror, []).append(skill.slug)
    return by_mirror


async def _check_skill(slug: str) -> bool:
    """Compare one skill; return whether that was possible."""
    known = await get_mirrored(slug)
    if known is None:
        return False
    try:
        wanted = find_mirror_target(slug)
        await check_not_deleted(wanted)
    except (MirrorRefused, SkillDeleted) as error:
        await postpone(known, str(error))
        return False
    except NotFound:
        await postpone(known, "its mirror is no longer configured")
        return False
    if not await has_room(wanted.mirror):
        return False  # it stays due
    await compare(wanted, known, by="cron")
    return True
