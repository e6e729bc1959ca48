"""Fill the search index from all records, and check it against them.

Records are read page by page and existing rows are overwritten. So an interrupted fill is simply
repeated, and filling a complete index repairs it while it keeps answering queries.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.index_file import IndexFile
from vskill_platform.catalogue.read_records import read_skill_changes, read_submission_changes
from vskill_platform.catalogue.write_skills import SkillChanges
from vskill_platform.catalogue.write_submissions import SubmissionChanges
from vskill_platform.stores.skill_store import iterate_slugs
from vskill_platform.stores.submission_store import iterate_events, iterate_submission_ids

Name = TypeVar("Name")
#: Batch size for reading and writing records: a trade-off between memory and speed.
AT_ONCE = 2_000


class Compared(msgspec.Struct, frozen=True):
    """A page of record names, compared with the same range of the search index."""

    names: list[str]
    missing: list[str]
    #: Names in the search index without a record.
    ghosts: list[str]


async def fill(index: IndexFile) -> None:
    """Index all records; everything committed before the call is in the index afterwards."""
    if not index.progress.is_built:
        await index.gather()
    await _write_all(index, _all_submissions(index))
    await index.forget_events()
    await _write_all(index, _all_events())
    await _write_all(index, _all_skills(index))
    await index.join()


async def _write_all(
    index: IndexFile, pieces: AsyncIterator[SkillChanges | SubmissionChanges]
) -> None:
    """Write batch by batch; while one is written, the next is read."""
    writing: asyncio.Task[None] | None = None
    try:
        async for piece in pieces:
            if writing:
                await writing
            writing = asyncio.create_task(_write(index, piece))
    finally:
        if writing:
            await writing


async def _write(index: IndexFile, piece: SkillChanges | SubmissionChanges) -> None:
    if isinstance(piece, SkillChanges):
        await index.write(skills=piece)
    else:
        await index.write(submissions=piece)


async def _all_submissions(index: IndexFile) -> AsyncIterator[SubmissionChanges]:
    async for page in compare(iterate_submission_ids(), index.submissions_between):
        yield SubmissionChanges(gone=page.ghosts)
        for some in _slices(page.names):
            yield await read_submission_changes(some, ())


async def _all_events() -> AsyncIterator[SubmissionChanges]:
    async for events in iterate_events():
        for some in _slices(events):
            yield await read_submission_changes((), some)


async def _all_skills(index: IndexFile) -> AsyncIterator[SkillChanges]:
    async for page in compare(iterate_slugs(), index.slugs_between):
        yield SkillChanges(gone=page.ghosts)
        for some in _slices(page.names):
            yield await read_skill_changes(some)


async def compare(
    pages: AsyncIterator[list[str]],
    known_between: Callable[[str, str | None], Awaitable[set[str]]],
) -> AsyncIterator[Compared]:
    """Yield all names page by page, with those missing from the index and those only there."""
    after = ""
    async for names in pages:
        if names:
            known = await known_between(after, names[-1])
            missing = [name for name in names if name not in known]
            yield Compared(names, missing, sorted(known.difference(names)))
            after = names[-1]
    yield Compared([], [], sorted(await known_between(after, None)))


def _slices(items: Sequence[Name]) -> Iterator[Sequence[Name]]:
    for start in range(0, len(items), AT_ONCE):
        yield items[start : start + AT_ONCE]


log = get_logger(__name__)

#: How many skills are read again in each check, even if they look right: the trust score grows with
#: time, without a change in the feed.
READ_AGAIN = 500
_MAX_NAMED = 10

CatchUp = Callable[[], Awaitable[None]]


async def check(index: IndexFile, catch_up: CatchUp, *, again_after: str) -> AsyncIterator[str]:
    """Check in small steps, between which the feed is followed; yield the next *again_after*."""
    async for page in compare(iterate_slugs(), index.slugs_between):
        if page.missing or page.ghosts:
            await catch_up()
            await _repair_skills(index, {*page.missing, *page.ghosts})
        yield again_after
    async for page in compare(iterate_submission_ids(), index.submissions_between):
        if page.missing or page.ghosts:
            await catch_up()
            await _repair_submissions(index, {*page.missing, *page.ghosts})
        yield again_after
    slugs = await index.some_slugs(after=again_after, limit=READ_AGAIN)
    changes = await read_skill_changes(slugs)
    # The feed will report deletions; if it does not, the next check finds and logs them.
    await index.write(skills=msgspec.structs.replace(changes, gone=()))
    yield slugs[-1] if slugs else ""


async def _repair_skills(index: IndexFile, suspects: set[str]) -> None:
    """Repair what still differs after all changes were read; before that it may just be new."""
    changes = await read_skill_changes(suspects)
    wanted = {facts.skill.slug for facts in changes.listed} | {skill.slug for skill in changes.down}
    known = await index.slugs_between("", None)
    if amiss := wanted.symmetric_difference(known & suspects):
        await index.write(skills=changes)
        _report("skills", amiss)


async def _repair_submissions(index: IndexFile, suspects: set[str]) -> None:
    changes = await read_submission_changes(suspects, ())
    wanted = {facts.submission.id for facts in changes.submissions}
    known = await index.submissions_between("", None)
    if amiss := wanted.symmetric_difference(known & suspects):
        await index.write(submissions=changes)
        _report("submissions", amiss)


def _report(what: str, amiss: set[str]) -> None:
    log.warning(
        "search index repaired", what=what, count=len(amiss), first=sorted(amiss)[:_MAX_NAMED]
    )
