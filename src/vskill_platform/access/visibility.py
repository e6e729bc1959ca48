"""Check what a visitor may see; a private skill is reported as not found.

This checks single skills, submissions and blocks. Lists and searches are filtered by the search
index, in catalogue/match.py.
"""

from collections.abc import Sequence

from vskill_platform.errors import NotFound, SkillDeleted
from vskill_platform.model.block import Block, BlockKind
from vskill_platform.model.namespace import namespace_in, namespace_of, namespace_of_skill
from vskill_platform.model.rights import Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.submission import Submission
from vskill_platform.stores.block_store import list_all_hits, list_blocks
from vskill_platform.stores.deleted_skill_store import get_deleted_skill
from vskill_platform.stores.namespace_store import get_namespace, list_namespaces_of
from vskill_platform.stores.records import Stored
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.source_submissions import list_submission_ids_of
from vskill_platform.stores.submission_store import get_submission, read_submissions


async def can_see_skill(visitor: Visitor, skill: PublishedSkill) -> bool:
    return not skill.is_private or await _can_see_namespace(visitor, namespace_of_skill(skill))


async def can_see_submission(visitor: Visitor, submission: Submission) -> bool:
    return not submission.is_private or await _can_see_namespace(
        visitor, namespace_of(submission.source)
    )


async def find_visible_skill(visitor: Visitor, slug: str) -> Stored[PublishedSkill]:
    """Return a skill, taken down or not; old slugs also work.

    Call this before you show versions, files, diffs, archives or reports of a skill.
    """
    stored = await get_skill(await resolve_slug(slug))
    if stored and not stored.record.is_private:
        return stored
    # Read even if there is no such skill, because the response time must not reveal whether it
    # exists.
    namespace = namespace_of_skill(stored.record) if stored else namespace_in(slug)
    is_seen = await _can_see_namespace(visitor, namespace)
    gone = await get_deleted_skill(slug)  # also for a private skill, for the same reason
    if stored is None and gone and (is_seen or not gone.record.is_private):
        raise SkillDeleted(f"{slug} was deleted: {gone.record.reason}")
    if stored is None or not is_seen:
        raise NotFound(f"there is no published skill {slug!r}")
    return stored


async def find_visible_submission(visitor: Visitor, submission_id: str) -> Stored[Submission]:
    stored = await get_submission(submission_id)
    if stored is None or not await can_see_submission(visitor, stored.record):
        raise NotFound(f"there is no submission {submission_id!r}")
    return stored


async def list_visible_namespaces(visitor: Visitor) -> frozenset[str]:
    """Return the namespaces whose private skills a visitor without full access may see."""
    if visitor.user is None or not visitor.can_see_own:
        return frozenset()
    names = frozenset(await list_namespaces_of(visitor.user.name))
    return names & {visitor.only_in} if visitor.only_in else names


async def _can_see_namespace(visitor: Visitor, namespace: str) -> bool:
    return visitor.can_see_namespace((await get_namespace(namespace)).record)


#: After this many invisible submissions, a block counts as private.
_MAX_LOOKED_AT = 50


async def list_visible_blocks(visitor: Visitor) -> list[Block]:
    """Return the blocks of visible submissions, and blocks that match no submission."""
    blocks = await list_blocks()
    if visitor.can_see_all:
        return blocks
    concerned = await _concerned(blocks)
    # Checking one submission of each block is usually enough.
    first = await _seen(visitor, {item: ids[:1] for item, ids in concerned.items()})
    rest = {item: ids[1:_MAX_LOOKED_AT] for item, ids in concerned.items() if item not in first}
    seen = first | await _seen(visitor, rest)
    return [
        block for block in blocks if block.subject.id in seen or not concerned.get(block.subject.id)
    ]


async def _concerned(blocks: Sequence[Block]) -> dict[str, list[str]]:
    """Return the submissions that each block affects, by the id of its subject."""
    found = await list_all_hits()
    for block in blocks:
        subject = block.subject
        if found.get(subject.id) or subject.kind not in {BlockKind.SOURCE, BlockKind.NAME}:
            continue
        # The block has ended no submission, but earlier submissions may have this source.
        url, _, _ = subject.value.partition("#")
        found[subject.id] = await list_submission_ids_of(url, limit=_MAX_LOOKED_AT)
    return found


async def _seen(visitor: Visitor, concerned: dict[str, list[str]]) -> set[str]:
    """Return the subjects with at least one submission that the visitor sees."""
    everything = {submission_id for ids in concerned.values() for submission_id in ids}
    submissions: dict[str, Submission] = await read_submissions(sorted(everything))
    visible = {
        submission_id
        for submission_id, submission in submissions.items()
        if await can_see_submission(visitor, submission)
    }
    return {item for item, ids in concerned.items() if not visible.isdisjoint(ids)}
