"""What waits for a person: the very files that were checked, kept until it is decided."""

from datetime import datetime

from vskill_platform.engines.ports import NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.model.skill import SkillFile
from vskill_platform.stores.records import (
    Stored,
    encode,
    get_archive_at,
    get_record,
    list_all_keys,
)

_HELD = "held:"
_FILES = "held-files:"


class HeldSkill(Record, frozen=True, kw_only=True):
    """A checked skill on its way to a person. Each submission has its own, none is shared."""

    submission_id: str
    files: tuple[SkillFile, ...]
    digest: str
    archive_sha256: str
    commit_sha: str | None
    tree_sha: str | None
    held_at: datetime


async def get_held(submission_id: str) -> Stored[HeldSkill] | None:
    return await get_record(_HELD + submission_id, HeldSkill)


async def get_held_files(held: HeldSkill) -> bytes | None:
    """Return the archive; one whose bytes were changed is an error."""
    return await get_archive_at(_FILES + held.submission_id, held.archive_sha256)


async def list_held() -> list[str]:
    return [key.removeprefix(_HELD) for key in await list_all_keys(_HELD)]


def write_held(held: HeldSkill, archive: bytes) -> list[Operation]:
    """Keep both until somebody drops them: nobody knows how long a person takes."""
    return [
        Put(_HELD + held.submission_id, encode(held), due=NEVER),
        Put(_FILES + held.submission_id, archive, due=NEVER),
    ]


def drop_held(submission_id: str, *, expected: int | None = None) -> list[Operation]:
    return [Delete(_HELD + submission_id, expected=expected), Delete(_FILES + submission_id)]


async def let_go(submission_id: str) -> list[Operation]:
    """Say what to write so that nothing is held any more; nothing at all if nothing is."""
    return drop_held(submission_id) if await get_held(submission_id) else []
