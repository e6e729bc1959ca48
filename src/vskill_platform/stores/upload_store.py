"""Files that were handed in, packed, kept until their submission has surely ended."""

from datetime import datetime, timedelta

from vskill_platform.engines.ports import NEVER, Delete, Operation, Put
from vskill_platform.stores.records import get_archive_at
from vskill_platform.stores.skill_store import get_archive

_UPLOAD = "upload:"
#: What was published stays as a version's archive; what was not can be uploaded again.
KEPT_FOR = timedelta(days=7)


async def get_upload(sha256: str) -> bytes | None:
    """Return what was handed in; a published version's archive is the same bytes."""
    upload = await get_archive_at(_UPLOAD + sha256, sha256)
    return await get_archive(sha256) if upload is None else upload


def write_upload(sha256: str, content: bytes, *, now: datetime) -> Operation:
    return Put(_UPLOAD + sha256, content, due=NEVER, expires_at=now + KEPT_FOR)


def drop_upload(sha256: str) -> Operation:
    """Say what to write with the version that has the same bytes as its archive."""
    return Delete(_UPLOAD + sha256)
