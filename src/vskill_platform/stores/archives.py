"""All archives that the registry keeps: of versions, and of skills held for review."""

from collections.abc import AsyncIterator

import msgspec

from vskill_platform.engines.blobs.blobs import EXTERNAL
from vskill_platform.stores.blob_store import get_reference, move_kept
from vskill_platform.stores.db import get_blobs
from vskill_platform.stores.held_store import get_held
from vskill_platform.stores.records import iterate_keys
from vskill_platform.stores.upload_store import HELD_FILES, UPLOAD
from vskill_platform.stores.version_store import BLOB

#: The kinds of archives that do not expire. Uploads do, and staged files even sooner.
_LASTING = (BLOB, HELD_FILES)


async def enumerate_archives(after: str | None = None) -> AsyncIterator[str]:
    """Yield the keys of all archives that do not expire, in order, starting after a key."""
    for prefix in _LASTING:
        async for page in iterate_keys(prefix):
            for key in page:
                if after is None or key > after:
                    yield key


async def move_archive(key: str) -> bool:
    """Move an archive to where new archives are stored; return whether it was elsewhere."""
    if key.startswith(BLOB):
        return await move_kept(key, key.removeprefix(BLOB))
    held = await get_held(key.removeprefix(HELD_FILES))
    return held is not None and await move_kept(key, held.record.archive_sha256)


class FoundArchives(msgspec.Struct, frozen=True):
    """The archives that a folder or bucket should contain, according to the records."""

    total: int
    #: The keys of archives that are missing there, or have another size.
    missing: list[str]


async def find_external_archives() -> FoundArchives:
    """Compare all records with a list of the folder or bucket; no content is read."""
    sizes: dict[str, int | None] = {}
    async for page in get_blobs().list_blobs():
        sizes |= {blob.name: blob.size for blob in page}
    total, missing = 0, []
    for prefix in (*_LASTING, UPLOAD):
        async for keys in iterate_keys(prefix):
            for key in keys:
                found = await get_reference(key)
                if found is None or not found.blob.startswith(f"{EXTERNAL}/"):
                    continue
                total += 1
                if sizes.get(found.blob) != found.size:
                    missing.append(key)
    return FoundArchives(total, missing)
