"""All archives that the registry keeps: of versions, and of skills that are held for review."""

from collections.abc import AsyncIterator

from vskill_platform.stores.blob_store import BlobRef, get_reference, move_kept
from vskill_platform.stores.held_store import get_held
from vskill_platform.stores.records import iterate_keys
from vskill_platform.stores.skill_store import BLOB
from vskill_platform.stores.upload_store import HELD_FILES, UPLOAD

#: Kinds that stay. Uploads expire, and staged files even sooner.
_LASTING = (BLOB, HELD_FILES)


async def enumerate_archives(after: str | None = None) -> AsyncIterator[str]:
    """Yield the key of each archive that stays, in order, beginning after that key."""
    for prefix in _LASTING:
        async for page in iterate_keys(prefix):
            for key in page:
                if after is None or key > after:
                    yield key


async def move_archive(key: str) -> bool:
    """Move an archive to where new ones are stored; tell whether it was somewhere else."""
    if key.startswith(BLOB):
        return await move_kept(key, key.removeprefix(BLOB))
    held = await get_held(key.removeprefix(HELD_FILES))
    return held is not None and await move_kept(key, held.record.archive_sha256)


async def enumerate_references() -> AsyncIterator[tuple[str, BlobRef]]:
    """Yield each record that names a blob, with its key."""
    for prefix in (*_LASTING, UPLOAD):
        async for page in iterate_keys(prefix):
            for key in page:
                if reference := await get_reference(key):
                    yield key, reference
