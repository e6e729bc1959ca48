"""The blocklist, and the submissions that it ended."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.model.block import Block, BlockSubject, subjects_of
from vskill_platform.model.source import Source
from vskill_platform.stores.records import (
    Stored,
    decode,
    encode,
    get_all,
    get_record,
    list_all_keys,
    read_each,
)

_BLOCK = "block:"
#: Submissions that a block has ended; removing the block reopens them.
_HIT = "block-hit:"


@lru_cache(maxsize=1024)
def _key(subject: BlockSubject) -> str:
    """Return the key of a block; cached, because the pipeline needs each key several times."""
    return _BLOCK + subject.id


async def get_block(subject: BlockSubject) -> Stored[Block] | None:
    return await get_record(_key(subject), Block)


async def list_blocks() -> list[Block]:
    """Return the whole blocklist, newest first."""
    keys = await list_all_keys(_BLOCK)
    blocks = await read_each(keys, lambda key, value: decode(key, value, Block))
    return sorted(blocks, key=lambda block: block.at, reverse=True)


async def find_block(
    source: Source, *, name: str | None = None, digest: str | None = None
) -> Stored[Block] | None:
    """Return the block that applies; None if there is none."""
    blocks = await get_blocks(subjects_of(source, name=name, digest=digest))
    return blocks[0] if blocks else None


async def get_blocks(subjects: Iterable[BlockSubject]) -> list[Stored[Block]]:
    """Return the blocks of these subjects. An unreadable record is an error, not "not blocked"."""
    found = await get_all([_key(subject) for subject in subjects], Block)
    return [block for block in found if block]


def expect_block(stored: Stored[Block]) -> Operation:
    """Make a commit fail if this block was removed: no unblock would reopen the submission."""
    return Expect(_key(stored.record.subject), stored.revision)


def expect_unblocked(source: Source, *, name: str, digest: str) -> list[Operation]:
    """Make a commit fail if a block was added since the last check."""
    subjects = subjects_of(source, name=name, digest=digest)
    return [Expect(_key(subject), ABSENT) for subject in subjects]


def expect_no_blocks(subjects: Sequence[BlockSubject]) -> list[Operation]:
    """Make a commit fail if one of these is blocked."""
    return [Expect(_key(subject), ABSENT) for subject in subjects]


def write_block(block: Block) -> Operation:
    """Store a block; the commit fails if there already is one for the same subject."""
    return Put(_key(block.subject), encode(block), expected=ABSENT, due=NEVER)


def delete_block(stored: Stored[Block]) -> Operation:
    return Delete(_key(stored.record.subject), expected=stored.revision)


async def list_hits(subject: BlockSubject) -> list[str]:
    """Return the ids of the submissions that this block has ended."""
    prefix = f"{_HIT}{subject.id}:"
    return [key.removeprefix(prefix) for key in await list_all_keys(prefix)]


async def list_all_hits() -> dict[str, list[str]]:
    """Return the submissions that each block has ended, by the id of its subject."""
    found: dict[str, list[str]] = {}
    for key in await list_all_keys(_HIT):
        subject_id, _, submission_id = key.removeprefix(_HIT).rpartition(":")
        found.setdefault(subject_id, []).append(submission_id)
    return found


def write_hit(subject: BlockSubject, submission_id: str) -> Operation:
    return Put(f"{_HIT}{subject.id}:{submission_id}", b"", due=NEVER)


def delete_hit(subject: BlockSubject, submission_id: str) -> Operation:
    return Delete(f"{_HIT}{subject.id}:{submission_id}")
