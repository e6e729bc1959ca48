"""Block a skill or source: the effect on published skills and submissions in progress."""

from collections.abc import Sequence

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, Overtaken
from vskill_platform.model.block import Block, BlockKind, BlockSubject, subjects_of
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import (
    IN_PROGRESS_STATES,
    TERMINAL_STATES,
    Submission,
    SubmissionState,
)
from vskill_platform.publish.moderation.take_down import take_down
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.block_store import (
    expect_block,
    get_block,
    write_block,
)
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.end_submission import block_submission, why_blocked
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import SkillMark, find_slugs, get_skill
from vskill_platform.stores.submission_store import (
    get_submission,
    list_pending_ids,
)

log = get_logger(__name__)

#: How many waiting reviews end in the commit of the block; more would make it too large.
MAX_IDLE = 500


class Blocked(msgspec.Struct, frozen=True, kw_only=True):
    block: Block
    #: Whether the block is new; an existing block of the same subject stays unchanged.
    is_new: bool
    #: Slugs that the block took down.
    taken_down: tuple[str, ...] = ()
    #: Submissions that it ended.
    ended: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Describe the effect, even if there is none: then the subject may have a typo."""
        if self.taken_down:
            ended = f", {count_of(len(self.ended), 'submission')} ended" if self.ended else ""
            return f"{count_of(len(self.taken_down), 'skill')} taken down{ended}."
        if self.block.subject.kind is BlockKind.DIGEST:
            nothing = (
                "No published skill has this content as its latest version. Older versions with it "
                "can no longer be installed, and it cannot be published again."
            )
        else:
            nothing = "No published skill is affected; new submissions of it are refused."
        ended = f" {count_of(len(self.ended), 'submission')} ended." if self.ended else ""
        return f"{nothing}{ended}"


class BlockPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The effect that a block would have now."""

    subject: BlockSubject
    #: The existing block of the same subject.
    known: Block | None
    #: Skills that would no longer be listed.
    skills: tuple[PublishedSkill, ...]
    #: Submissions in progress or in review that the block would end.
    submissions: tuple[str, ...]


async def block(subject: BlockSubject, *, reason: str, actor: str) -> Blocked:
    """Add a block and end everything it affects; after a crash, call it again to complete the work.

    One commit writes the block, takes down published skills and ends waiting reviews. Afterwards,
    submissions that a worker holds and reviews that did not fit into the commit are ended one by
    one. From the first commit on, none of them can be published, even after a crash.
    """
    await _refuse_wrong_slug(subject)
    blocked = await change(
        subject.in_words(), lambda: _plan_block(subject, reason=reason, actor=actor)
    )
    ended = await _end_in_progress(subject, actor=actor)
    return msgspec.structs.replace(blocked, ended=(*blocked.ended, *ended))


async def preview_block(subject: BlockSubject) -> BlockPreview:
    """Return what a block would take down and end, without changing anything."""
    await _refuse_wrong_slug(subject)
    known = await get_block(subject)
    skills = [stored.record for stored in await _find_listed(subject)]
    return BlockPreview(
        subject=subject,
        known=known.record if known else None,
        skills=tuple(sorted(skills, key=lambda skill: skill.slug)),
        submissions=tuple(await list_pending_ids(lambda item: _concerns(subject, item))),
    )


async def _refuse_wrong_slug(subject: BlockSubject) -> None:
    """Refuse to block an upload if its slug belongs to a skill in a local folder.

    Both are called `@local/name`, so the skill would seem to be blocked but stay available.
    """
    if subject.kind is not BlockKind.SOURCE or not subject.value.startswith("upload:"):
        return
    slug = subject.value.removeprefix("upload:")
    skill = await get_skill(slug)
    if skill and skill.record.down is None and not _may_concern(subject, skill.record):
        source = skill.record.source_key.removesuffix("#")
        raise InvalidInput(f"{slug} was not uploaded: block its source, {source}")


async def _plan_block(subject: BlockSubject, *, reason: str, actor: str) -> PlannedChange[Blocked]:
    """Plan the block, and the end of everything that no worker is processing."""
    known = await get_block(subject)
    fresh = Block(subject=subject, reason=reason, by=actor, at=get_now())
    wanted = known.record if known else fresh
    skills = await _find_listed(subject)
    idle = await _find_idle(subject, [stored.record for stored in skills])
    operations: list[Operation] = [expect_block(known) if known else write_block(wanted)]
    for skill in skills:
        operations += await take_down(skill, reason=why_blocked(wanted), actor=actor)
    for submission in idle:
        operations += (await block_submission(submission, wanted, actor=actor))[1]
    taken_down = tuple(stored.record.slug for stored in skills)
    ended = tuple(stored.record.id for stored in idle)
    if not known or taken_down or ended:
        outcome = (
            f"{count_of(len(taken_down), 'skill')} taken down, "
            f"{count_of(len(ended), 'submission')} ended"
        )
        target = subject.in_words()
        operations.append(
            write_audit(
                "block add",
                target,
                actor=actor,
                reason=wanted.reason,
                outcome=outcome,
                skills=taken_down,
            )
        )
    blocked = Blocked(block=wanted, is_new=not known, taken_down=taken_down, ended=ended)
    return PlannedChange(operations=operations, result=blocked)


async def _end_in_progress(subject: BlockSubject, *, actor: str) -> list[str]:
    """End submissions that a worker holds or will get; a faster worker detects the block."""
    found = await list_pending_ids(lambda item: _concerns(subject, item))
    return [one for one in found if await _end_one(one, subject, actor=actor)]


async def _end_one(submission_id: str, subject: BlockSubject, *, actor: str) -> bool:
    async def plan() -> PlannedChange[bool]:
        stored, known = await get_submission(submission_id), await get_block(subject)
        if stored is None or known is None or stored.record.state in TERMINAL_STATES:
            return PlannedChange(result=False)
        _, operations = await block_submission(stored, known.record, actor=actor)
        return PlannedChange(operations=[expect_block(known), *operations], result=True)

    try:
        return await change(submission_id, plan)
    except Overtaken:  # the worker's final commit requires that there is no block
        log.warning(
            "block left to the pipeline", submission=submission_id, block=subject.in_words()
        )
        return False


async def _find_listed(subject: BlockSubject) -> list[Stored[PublishedSkill]]:
    """Return the current records of the listed skills that the block affects."""
    found = []
    for slug in await find_slugs(lambda mark: _may_concern(subject, mark)):
        stored = await get_skill(slug)
        if stored and stored.record.down is None and await _concerns_skill(subject, stored.record):
            found.append(stored)
    return found


async def _find_idle(
    subject: BlockSubject, skills: Sequence[PublishedSkill]
) -> list[Stored[Submission]]:
    """Return submissions that are not in progress: of these skills, and some that need review."""

    def needs_review(item: Submission) -> bool:
        return item.state is SubmissionState.NEEDS_REVIEW and _concerns(subject, item)

    waiting = await list_pending_ids(needs_review, limit=MAX_IDLE)
    ids = {skill.submission_id for skill in skills} | set(waiting)
    in_progress = {*IN_PROGRESS_STATES, SubmissionState.BLOCKED}
    found = [await get_submission(submission_id) for submission_id in sorted(ids)]
    return [stored for stored in found if stored and stored.record.state not in in_progress]


def _may_concern(subject: BlockSubject, skill: SkillMark | PublishedSkill) -> bool:
    """Return whether its source needs to be checked, judging by the skill alone."""
    value = subject.value
    keys = [skill.source_key, *(home.source_key for home in skill.moved_from)]
    match subject.kind:
        case BlockKind.DIGEST:
            return skill.digest == value
        case BlockKind.PUBLISHER:
            homes = {home.publisher for home in skill.moved_from}
            return skill.publisher in {value, ""} or value in homes
        case BlockKind.NAME:
            source, _, name = value.rpartition("#")
            return skill.name == name and any(key.startswith(f"{source}#") for key in keys)
        case BlockKind.SOURCE:
            return value in keys or any(key.startswith(f"{value}#") for key in keys)


async def _concerns_skill(subject: BlockSubject, skill: PublishedSkill) -> bool:
    stored = await get_submission(skill.submission_id)
    if stored is None or skill.moved_from:  # unknown, or moved: check its source
        return _may_concern(subject, skill)
    source = stored.record.source
    return subject in subjects_of(source, name=skill.name, digest=skill.digest)


def _concerns(subject: BlockSubject, submission: Submission) -> bool:
    return subject in submission_subjects(submission)


def submission_subjects(submission: Submission) -> tuple[BlockSubject, ...]:
    return subjects_of(submission.source, name=submission.skill_name, digest=submission.digest)
