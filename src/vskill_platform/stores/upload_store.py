"""Packed uploads, kept until their submission is finished, and staged single files."""

from datetime import datetime, timedelta

from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Operation, Put
from vskill_platform.stores.blob_store import (
    Kept,
    get_archive_at,
    get_kept,
    put_kept,
    size_of_kept,
)
from vskill_platform.stores.db import get_kv
from vskill_platform.stores.records import (
    encode,
    get_record,
    iterate_keys,
    list_all_keys,
    read_found,
)
from vskill_platform.stores.version_store import get_kept_archive

UPLOAD = "upload:"
#: Prefix for the files of a submission that needs review.
HELD_FILES = "held-files:"
#: Prefix for the SHA-256 of an upload and the id of a submission with the same bytes.
HELD_UPLOAD = "held-upload:"
_HOLDERS = 8
#: How long an upload is kept. Published files are in the version's archive; others can be uploaded
#: again.
KEPT_FOR = timedelta(days=7)
#: Prefix for single files of a user, which a later request submits together.
_STAGED = "staged-file:"
#: Prefix for reservations of files that are about to be staged.
_RESERVED = "staged-reserved:"
#: Changes with every reservation of a user.
_STAGED_MARK = "staged-mark:"
STAGED_FOR = timedelta(hours=1)
#: How long a reservation lasts: writing a file takes seconds, and a crash must not block it.
_RESERVED_FOR = timedelta(minutes=5)


async def get_upload(sha256: str) -> Kept | None:
    """Return an upload, even if it is stored as a version's archive or held for review."""
    upload = await get_kept(UPLOAD + sha256, sha256)
    if upload is None:
        upload = await get_kept_archive(sha256)
    return await _get_held_upload(sha256) if upload is None else upload


async def _get_held_upload(sha256: str) -> Kept | None:
    prefix = f"{HELD_UPLOAD}{sha256}:"
    for key in (await get_kv().list_keys(prefix, limit=_HOLDERS)).keys:
        held = await get_kept(HELD_FILES + key.removeprefix(prefix), sha256)
        if held is not None:
            return held
    return None


async def measure_uploads() -> tuple[int, int]:
    """Return how many uploads are stored, and their size."""
    count = size = 0
    async for keys in iterate_keys(UPLOAD):
        found = await read_found(keys, lambda _, value: size_of_kept(value))
        count, size = count + len(found), size + sum(found.values())
    return count, size


def write_upload(sha256: str, content: Kept, *, now: datetime) -> list[Operation]:
    return put_kept(UPLOAD + sha256, content, sha256, expires_at=now + KEPT_FOR)


def drop_upload(sha256: str) -> Operation:
    """Return the operation that deletes an upload when its bytes are stored under another key."""
    return Delete(UPLOAD + sha256)


async def count_staged(user: str) -> tuple[int, int]:
    """Return how many files a user has staged or reserved, and their bytes."""
    # Reservations first: a file that is staged between the two lists is in both, not in neither.
    names = {
        key.removeprefix(prefix)
        for prefix in (_RESERVED, _STAGED)
        for key in await list_all_keys(f"{prefix}{user}:")
    }
    return len(names), sum(int(name.rpartition(":")[2]) for name in names)


async def get_staged_mark(user: str) -> int:
    """Return the revision of the record that every reservation of a user writes."""
    stored = await get_record(_STAGED_MARK + user, str)
    return stored.revision if stored else ABSENT


def reserve_staged(
    user: str, sha256: str, size: int, *, now: datetime, mark: int
) -> list[Operation]:
    """Reserve space for a file; fails if the user reserved another one meanwhile."""
    key = _staged_key(user, sha256, size).removeprefix(_STAGED)
    return [
        Put(_RESERVED + key, b"", due=NEVER, expires_at=now + _RESERVED_FOR),
        Put(_STAGED_MARK + user, encode(key), expected=mark, due=NEVER),
    ]


async def get_staged(user: str, sha256: str, size: int) -> bytes | None:
    return await get_archive_at(_staged_key(user, sha256, size), sha256)


def write_staged(
    user: str, sha256: str, content: Kept, *, size: int, now: datetime
) -> list[Operation]:
    """Store a file for which space was reserved."""
    key = _staged_key(user, sha256, size)
    stored = put_kept(key, content, sha256, expires_at=now + STAGED_FOR)
    return [*stored, Delete(_RESERVED + key.removeprefix(_STAGED))]


def drop_staged(user: str, sha256: str, size: int) -> Operation:
    return Delete(_staged_key(user, sha256, size))


def _staged_key(user: str, sha256: str, size: int) -> str:
    return f"{_STAGED}{user}:{sha256}:{size}"
