"""Archives and uploads: small ones are stored in the record, others as blobs that it names."""

import hashlib
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from vskill_platform.base.off_loop import in_few_threads, work_in_thread
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.blobs.blobs import DATABASE, EXTERNAL, is_blob_name, sha256_of
from vskill_platform.engines.blobs.sweep import is_swept, refer_to_blob
from vskill_platform.engines.operations import NEVER, Operation, Put
from vskill_platform.engines.ports import Entry
from vskill_platform.errors import BlobMissing, RecordMalformed
from vskill_platform.stores.db import bound_env, commit, get_blobs, get_kv
from vskill_platform.stores.records import encode

log = get_logger(__name__)

#: If blobs are in the database, content up to this size is stored in the commit that names it. A
#: second commit would cost more than it saves.
INLINE_BYTES = 64 * 1024
#: A reference never has this many bytes.
_MAX_REFERENCE = 256
#: In bytes: to hash less takes less time than a thread call.
_HASHED_HERE = 64 * 1024
#: How many records with the same content are examined to find a blob to share.
_SHARED = 4


class BlobRef(msgspec.Struct, frozen=True):
    """The value of a record whose content is a blob."""

    blob: str
    size: int


#: Content in the form that a record contains.
Kept: TypeAlias = bytes | BlobRef
_REFERENCE = msgspec.json.Decoder(BlobRef)


async def keep(sha256: str, content: bytes) -> Kept:
    """Store content before the commit that names it, and verify that it can be read back."""
    if get_blobs().place == DATABASE and len(content) <= INLINE_BYTES:
        return content
    if shared := await _find_blob(sha256):
        return shared
    return BlobRef(await get_blobs().put(content, sha256=sha256), len(content))


class KeptOnce:
    """Content that is stored only once, even if the commit that names it is planned repeatedly."""

    def __init__(self, sha256: str, content: bytes) -> None:
        self._sha256 = sha256
        self._content = content
        self._kept: Kept | None = None

    async def get(self) -> Kept:
        kept = self._kept
        if isinstance(kept, BlobRef) and await is_swept(bound_env().engine, kept.blob):
            kept = None  # a day has passed since the upload
        self._kept = await keep(self._sha256, self._content) if kept is None else kept
        return self._kept


def put_kept(
    key: str,
    kept: Kept,
    sha256: str,
    *,
    expected: int | None = None,
    expires_at: datetime | None = None,
) -> list[Operation]:
    """Return the operations that store content under a key."""
    if isinstance(kept, bytes):
        return [Put(key, kept, expected=expected, due=NEVER, expires_at=expires_at)]
    put = Put(
        key, encode(kept), expected=expected, due=NEVER, expires_at=expires_at,
        marks=(_mark(sha256),),
    )  # fmt: skip
    return refer_to_blob(put, kept.blob)


async def get_kept(key: str, sha256: str) -> Kept | None:
    """Return the content or its blob; raise if it is not what was stored."""
    entry = await get_kv().get(key)
    return await _read_entry(key, entry, sha256) if entry else None


async def get_reference(key: str) -> BlobRef | None:
    """Return the blob that a record names; None if the record contains the content."""
    entry = await get_kv().get(key)
    return _parse(entry.value) if entry else None


def size_of_kept(value: bytes) -> int:
    """Return the size of the content that a record contains or names."""
    reference = _parse(value)
    return reference.size if reference else len(value)


async def get_archive_at(key: str, sha256: str) -> bytes | None:
    """Return stored content; raise if its bytes have changed."""
    kept = await get_kept(key, sha256)
    return None if kept is None else await read_kept(kept)


async def read_kept(kept: Kept) -> bytes:
    if isinstance(kept, bytes):
        return kept
    return b"".join([piece async for piece in get_blobs().get(kept.blob)])


async def stream_kept(kept: Kept) -> AsyncIterator[bytes]:
    """Yield content in pieces; after an error, the content is incomplete."""
    if isinstance(kept, bytes):
        yield kept
        return
    async for piece in get_blobs().get(kept.blob):
        yield piece


async def save_kept(kept: Kept, path: Path) -> None:
    """Write content to a new file, piece by piece."""
    with await work_in_thread(path.open, "xb") as file:
        async for piece in stream_kept(kept):
            await work_in_thread(file.write, piece)


def _parse(value: bytes) -> BlobRef | None:
    """Return the reference in a record, if it is one."""
    if len(value) > _MAX_REFERENCE:
        return None
    try:
        found = _REFERENCE.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if is_blob_name(found.blob) else None


async def _read_entry(key: str, entry: Entry, sha256: str) -> Kept:
    value = entry.value
    is_large = len(value) > _HASHED_HERE
    found = await in_few_threads(_sha256, value) if is_large else _sha256(value)
    if found == sha256:
        return value
    # Checked last, because an upload may look like a reference.
    reference = _parse(value)
    if reference and sha256_of(reference.blob) == sha256:
        return reference
    log.error("stored archive was changed", key=key, expected=sha256, found=found)
    raise RecordMalformed(
        f"the stored archive {key} differs from the scanned files: its SHA-256 is {found}, not "
        f"{sha256}. The database was changed or damaged; restore it from a backup"
    )


async def _find_blob(sha256: str) -> BlobRef | None:
    """Return a readable blob with this content, so that it is stored only once."""
    engine = bound_env().engine
    (keys,) = await engine.kv.find_marked([_mark(sha256)], limit=_SHARED)
    for entry in filter(None, await engine.kv.get_many(keys)):
        found = _parse(entry.value)
        if found is None or not found.blob.startswith(f"{engine.blobs.place}/"):
            continue
        if await is_swept(engine, found.blob):
            continue
        try:
            async for _ in engine.blobs.get(found.blob):
                pass
        except (BlobMissing, RecordMalformed) as error:
            log.error("stored blob cannot be used", blob=found.blob, error=str(error))
            continue
        return found
    return None


async def move_kept(key: str, sha256: str) -> bool:
    """Move content to where new content is stored; return whether it was elsewhere.

    Releases without blobs stored everything in records.
    """
    entry = await get_kv().get(key)
    if entry is None:
        return False
    kept = await _read_entry(key, entry, sha256)
    place = get_blobs().place
    if isinstance(kept, bytes):
        is_in_place, size = place == DATABASE and len(kept) <= INLINE_BYTES, len(kept)
    else:
        # Nothing moves back into the database, because that would need the store that is no longer
        # set.
        is_in_place, size = place == DATABASE or kept.blob.startswith(f"{EXTERNAL}/"), kept.size
    if is_in_place:
        return False
    moved = BlobRef(await get_blobs().put(stream_kept(kept), sha256=sha256), size)
    operations = put_kept(key, moved, sha256, expected=entry.revision)
    return await commit(operations) is not None


def _mark(sha256: str) -> str:
    return f"content:{sha256}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
