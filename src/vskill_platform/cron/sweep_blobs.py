"""Cron job: move archives to where new ones are stored, and delete blobs that no record names."""

from datetime import timedelta

from vskill_platform.base.show_text import count_of
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.blobs.sweep import sweep_blobs
from vskill_platform.errors import BlobMissing, RecordMalformed
from vskill_platform.stores.archives import enumerate_archives, move_archive
from vskill_platform.stores.cron_store import get_cursor, put_cursor
from vskill_platform.stores.db import bound_env, get_now

log = get_logger(__name__)

#: How long a blob without a record is kept: much longer than any request takes.
GRACE = timedelta(days=1)
_CURSOR = "move-archives"
#: How many archives are examined per run; the next run continues after them.
_AT_ONCE = 10_000


async def sweep_unused_blobs() -> str:
    moved = await _move_archives()
    swept = await sweep_blobs(bound_env().engine, stored_before=get_now() - GRACE)
    return f"{count_of(moved, 'archive')} moved, {count_of(swept, 'unused blob')} deleted"


async def _move_archives() -> int:
    """Move archives that an older release, or another setting, stored elsewhere."""
    moved, keys, after = 0, 0, await get_cursor(_CURSOR)
    async for key in enumerate_archives(after):
        if keys == _AT_ONCE:
            break
        keys, after = keys + 1, key
        try:
            moved += await move_archive(key)
        except (BlobMissing, RecordMalformed) as error:  # every read of it reports the reason
            log.error("archive not moved", key=key, error=str(error))
    else:
        after = None
    await put_cursor(_CURSOR, after)
    return moved
