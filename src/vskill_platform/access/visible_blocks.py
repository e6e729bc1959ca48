"""The part of the blocklist that a visitor may read.

A block names a source, and its reason may tell more: one that concerns private things alone
would tell everybody of what is not there for them.
"""

from collections.abc import Sequence

from vskill_platform.access.visibility import sees_submission
from vskill_platform.model.block import Block, BlockKind
from vskill_platform.model.rights import Visitor
from vskill_platform.model.submission import Submission
from vskill_platform.stores.block_store import list_all_hits, list_blocks
from vskill_platform.stores.source_submissions import list_owners_of
from vskill_platform.stores.submission_store import read_submissions

#: Of a block that has ended more, so many are looked at before it counts as private.
_MAX_LOOKED_AT = 50


async def list_visible_blocks(visitor: Visitor) -> list[Block]:
    """Return what concerns something that the visitor sees, or nothing that is known here."""
    blocks = await list_blocks()
    if visitor.sees_all:
        return blocks
    concerned = await _concerned(blocks)
    # One of each is enough for nearly all of them.
    first = await _seen(visitor, {item: ids[:1] for item, ids in concerned.items()})
    rest = {item: ids[1:_MAX_LOOKED_AT] for item, ids in concerned.items() if item not in first}
    seen = first | await _seen(visitor, rest)
    return [
        block for block in blocks if block.subject.id in seen or not concerned.get(block.subject.id)
    ]


async def _concerned(blocks: Sequence[Block]) -> dict[str, list[str]]:
    """Return by the id of each block's subject which submissions it is about."""
    found = await list_all_hits()
    for block in blocks:
        subject = block.subject
        if found.get(subject.id) or subject.kind not in {BlockKind.SOURCE, BlockKind.NAME}:
            continue
        # It has ended nothing; what came from there may have ended before.
        url, _, _ = subject.value.partition("#")
        found[subject.id] = await list_owners_of(url, limit=_MAX_LOOKED_AT)
    return found


async def _seen(visitor: Visitor, concerned: dict[str, list[str]]) -> set[str]:
    """Return those of which the visitor sees at least one submission."""
    everything = {submission_id for ids in concerned.values() for submission_id in ids}
    submissions: dict[str, Submission] = await read_submissions(sorted(everything))
    visible = {
        submission_id
        for submission_id, submission in submissions.items()
        if await sees_submission(visitor, submission)
    }
    return {item for item, ids in concerned.items() if not visible.isdisjoint(ids)}
