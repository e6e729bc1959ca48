"""Fill, update and check the search index from the records.

A fill reads records page by page and overwrites existing rows. So an interrupted fill is simply
repeated, and filling a complete index repairs it while it is in use.
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from typing import TypeVar

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.index_file import IndexFile
from vskill_platform.catalogue.query import TakenDownSkill
from vskill_platform.catalogue.skill_rows import SkillFacts
from vskill_platform.catalogue.write_skills import SkillChanges
from vskill_platform.catalogue.write_submissions import SubmissionChanges, SubmissionFacts
from vskill_platform.model.failure import NO_SCANNER
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, TakenDown
from vskill_platform.publish.versions.trust_of_skill import trust_of_skills
from vskill_platform.stores.install_store import read_installs, slug_of_installs_key
from vskill_platform.stores.scan_store import (
    ReportMark,
    read_report_marks,
    submission_of_report_key,
)
from vskill_platform.stores.skill_store import iterate_slugs, read_skills, slug_of_key
from vskill_platform.stores.submission_store import (
    event_of_key,
    iterate_events,
    iterate_submission_ids,
    read_events,
    read_submissions,
    submission_of_key,
)
from vskill_platform.stores.version_store import VersionMark, read_version_marks

log = get_logger(__name__)

Name = TypeVar("Name")
#: Batch size for reading and writing records: a trade-off between memory and speed.
AT_ONCE = 2_000
#: How many skills each check reads again even if they seem correct, because the trust score grows
#: with time, without a change in the feed.
READ_AGAIN = 500
_MAX_NAMED = 10

CatchUp = Callable[[], Awaitable[None]]


class ChangedRecords(msgspec.Struct, frozen=True):
    """The skills, submissions and events that changed keys belong to."""

    slugs: set[str] = msgspec.field(default_factory=set)
    submission_ids: set[str] = msgspec.field(default_factory=set)
    events: set[tuple[str, int]] = msgspec.field(default_factory=set)
    #: Submissions with new scan results, which may change the trust score of a skill.
    evidence: set[str] = msgspec.field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.slugs or self.submission_ids or self.events or self.evidence)


def group_keys(keys: Iterable[str]) -> ChangedRecords:
    """Group changed keys by the records to which they belong; most keys are not indexed."""
    found = ChangedRecords()
    for key in keys:
        if (slug := slug_of_key(key) or slug_of_installs_key(key)) is not None:
            found.slugs.add(slug)
        elif (submission_id := submission_of_key(key)) is not None:
            found.submission_ids.add(submission_id)
        elif (event := event_of_key(key)) is not None:
            found.events.add(event)
            found.evidence.add(event[0])
        elif (submission_id := submission_of_report_key(key)) is not None:
            found.submission_ids.add(submission_id)
            found.evidence.add(submission_id)
    return found


async def read_skill_changes(slugs: Collection[str]) -> SkillChanges:
    """Read these skills with their installs, reports and other evidence, all at once."""
    found = await read_skills(list(slugs))
    # The slug is taken from the key, so that a damaged record cannot replace another.
    skills = [msgspec.structs.replace(skill, slug=slug) for slug, skill in found.items()]
    listed = [skill for skill in skills if skill.down is None]
    numbers = {skill.slug: skill.latest_number for skill in listed}
    latest = await read_version_marks({slug: n for slug, n in numbers.items() if n is not None})
    trusts = await trust_of_skills(listed, latest)
    installs = await read_installs([skill.slug for skill in listed])
    down = {skill.slug: _down(skill, skill.down) for skill in skills if skill.down}
    return SkillChanges(
        listed=[
            SkillFacts(
                skill=skill,
                trust=trusts[skill.slug],
                updated_at=latest[skill.slug].published_at
                if skill.slug in latest
                else skill.published_at,
                installs=installs[skill.slug].total if skill.slug in installs else 0,
                capabilities=latest[skill.slug].capabilities if skill.slug in latest else None,
                **_digests(latest.get(skill.slug)),
            )
            for skill in listed
            if skill.slug in trusts
        ],
        down=list(down.values()),
        gone=[slug for slug in slugs if slug not in trusts and slug not in down],
    )


async def read_submission_changes(
    submission_ids: Collection[str], events: Collection[tuple[str, int]]
) -> SubmissionChanges:
    submissions = await read_submissions(list(submission_ids))
    reports = await read_report_marks(list(submissions))
    found = await read_events(list(events))
    return SubmissionChanges(
        submissions=[
            SubmissionFacts(
                msgspec.structs.replace(submission, id=submission_id),
                _score(reports.get(submission_id)),
            )
            for submission_id, submission in submissions.items()
        ],
        events=[
            msgspec.structs.replace(event, submission_id=submission_id, number=number)
            for (submission_id, number), event in found.items()
        ],
        gone_events=[event for event in events if event not in found],
        gone=[known for known in submission_ids if known not in submissions],
    )


def _digests(latest: VersionMark | None) -> dict[str, str]:
    if latest is None:
        return {}
    return {
        "zip_sha256": latest.zip_sha256 or "",
        "git_commit": latest.git_commit or "",
        "plugin_commit": latest.plugin_commit,
    }


def _score(report: ReportMark | None) -> int | None:
    return None if report is None or report.scanner == NO_SCANNER else report.score


def _down(skill: PublishedSkill, down: TakenDown) -> TakenDownSkill:
    return TakenDownSkill(
        slug=skill.slug,
        name=skill.name,
        namespace=namespace_of_skill(skill),
        reason=down.reason,
        at=down.at,
        is_private=skill.is_private,
    )


class Compared(msgspec.Struct, frozen=True):
    """A page of record names, compared with the same range of the search index."""

    names: list[str]
    missing: list[str]
    #: Names in the search index without a record.
    orphans: list[str]


async def fill(index: IndexFile) -> None:
    """Index all records; everything committed before the call is in the index afterwards."""
    is_new = not index.progress.is_built
    if is_new:
        await index.begin_fill()
    await _write_all(index, _all_submissions(index))
    await index.delete_events()
    await _write_all(index, _all_events())
    await _write_all(index, _all_skills(index))
    await index.finish_fill()
    if is_new:
        await index.compact()


async def _write_all(
    index: IndexFile, pieces: AsyncIterator[SkillChanges | SubmissionChanges]
) -> None:
    """Write batch by batch; while one batch is written, the next is read."""
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
        yield SubmissionChanges(gone=page.orphans)
        for some in _slices(page.names):
            yield await read_submission_changes(some, ())


async def _all_events() -> AsyncIterator[SubmissionChanges]:
    async for events in iterate_events():
        for some in _slices(events):
            yield await read_submission_changes((), some)


async def _all_skills(index: IndexFile) -> AsyncIterator[SkillChanges]:
    async for page in compare(iterate_slugs(), index.slugs_between):
        yield SkillChanges(gone=page.orphans)
        for some in _slices(page.names):
            yield await read_skill_changes(some)


async def compare(
    pages: AsyncIterator[list[str]],
    known_between: Callable[[str, str | None], Awaitable[set[str]]],
) -> AsyncIterator[Compared]:
    """Yield all names page by page, with those missing from the index and those only in it."""
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


async def check(index: IndexFile, catch_up: CatchUp, *, again_after: str) -> AsyncIterator[str]:
    """Check in small steps, between which the feed is followed; yield the next *again_after*."""
    async for page in compare(iterate_slugs(), index.slugs_between):
        if page.missing or page.orphans:
            await catch_up()
            await _repair_skills(index, {*page.missing, *page.orphans})
        yield again_after
    async for page in compare(iterate_submission_ids(), index.submissions_between):
        if page.missing or page.orphans:
            await catch_up()
            await _repair_submissions(index, {*page.missing, *page.orphans})
        yield again_after
    slugs = await index.some_slugs(after=again_after, limit=READ_AGAIN)
    changes = await read_skill_changes(slugs)
    # The feed will report deletions; if it does not, the next check finds and logs them.
    await index.write(skills=msgspec.structs.replace(changes, gone=()))
    yield slugs[-1] if slugs else ""


async def _repair_skills(index: IndexFile, suspects: set[str]) -> None:
    """Repair what differs after all changes were read; before that, it may just be new."""
    changes = await read_skill_changes(suspects)
    wanted = {facts.skill.slug for facts in changes.listed} | {skill.slug for skill in changes.down}
    known = await index.slugs_between("", None)
    if differing := wanted.symmetric_difference(known & suspects):
        await index.write(skills=changes)
        _report("skills", differing)


async def _repair_submissions(index: IndexFile, suspects: set[str]) -> None:
    changes = await read_submission_changes(suspects, ())
    wanted = {facts.submission.id for facts in changes.submissions}
    known = await index.submissions_between("", None)
    if differing := wanted.symmetric_difference(known & suspects):
        await index.write(submissions=changes)
        _report("submissions", differing)


def _report(what: str, differing: set[str]) -> None:
    log.warning(
        "search index repaired",
        what=what,
        count=len(differing),
        first=sorted(differing)[:_MAX_NAMED],
    )
