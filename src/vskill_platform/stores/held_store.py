"""Files held for review, kept until the decision."""

from datetime import datetime

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.model.skill import SkillFile
from vskill_platform.stores.blob_store import Kept, get_archive_at, get_kept, put_kept
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import (
    Stored,
    encode,
    get_record,
    list_all_keys,
)
from vskill_platform.stores.upload_store import (
    HELD_FILES,
    HELD_UPLOAD,
    drop_upload,
    write_upload,
)

_HELD = "held:"


class HeldSkill(Record, frozen=True, kw_only=True):
    """A scanned skill that is held for review."""

    submission_id: str
    files: tuple[SkillFile, ...]
    digest: str
    archive_sha256: str
    commit_sha: str | None
    tree_sha: str | None
    held_at: datetime
    #: Whether the files are the only copy of an upload.
    is_upload: bool = False


async def get_held(submission_id: str) -> Stored[HeldSkill] | None:
    return await get_record(_HELD + submission_id, HeldSkill)


async def get_held_files(held: HeldSkill) -> bytes | None:
    """Return the archive; raise if its bytes have changed."""
    return await get_archive_at(HELD_FILES + held.submission_id, held.archive_sha256)


async def list_held() -> list[str]:
    return [key.removeprefix(_HELD) for key in await list_all_keys(_HELD)]


async def write_held(held: HeldSkill, archive: Kept) -> list[Operation]:
    """Store both without expiry, because a review may take any time."""
    before = await get_held(held.submission_id)
    is_other = before is not None and before.record.archive_sha256 != held.archive_sha256
    operations: list[Operation] = [
        *(await _return_upload(before.record) if before and is_other else []),
        Put(_HELD + held.submission_id, encode(held), due=NEVER),
        *put_kept(HELD_FILES + held.submission_id, archive, held.archive_sha256),
    ]
    if held.is_upload:
        operations += [
            Put(_upload_key(held), b"", due=NEVER),
            drop_upload(held.archive_sha256),
        ]
    return operations


def drop_held(held: HeldSkill, *, expected: int | None = None) -> list[Operation]:
    return [
        Delete(_HELD + held.submission_id, expected=expected),
        Delete(HELD_FILES + held.submission_id),
        *([Delete(_upload_key(held))] if held.is_upload else []),
    ]


async def release_held(submission_id: str, *, keeps_upload: bool = False) -> list[Operation]:
    """Return the operations that remove held files; empty if there are none.

    With *keeps_upload*, an upload can be retried for as long as if it had not been held.
    """
    stored = await get_held(submission_id)
    if stored is None:
        return []
    kept = await _return_upload(stored.record) if keeps_upload else []
    return [*kept, *drop_held(stored.record)]


async def _return_upload(held: HeldSkill) -> list[Operation]:
    """Return the operation that stores an upload again; others may have the same bytes."""
    key = HELD_FILES + held.submission_id
    files = await get_kept(key, held.archive_sha256) if held.is_upload else None
    if files is None:
        return []
    return [Delete(_upload_key(held)), *write_upload(held.archive_sha256, files, now=get_now())]


def _upload_key(held: HeldSkill) -> str:
    return f"{HELD_UPLOAD}{held.archive_sha256}:{held.submission_id}"
