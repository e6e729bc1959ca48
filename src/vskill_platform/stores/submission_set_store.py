"""Sets: which submissions came in together, from one repo or archive."""

import hashlib
from datetime import datetime

from vskill_platform.engines.ports import NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit
from vskill_platform.stores.records import encode, get_record

_SET = "set:"


class SubmissionSet(Record, frozen=True, kw_only=True):
    id: str
    #: Where all of it came from.
    source: str
    submission_ids: tuple[str, ...]
    submitter: str
    updated_at: datetime


def set_id_of(source: str) -> str:
    """Name the set of a source: whoever submits it again means the same set."""
    return f"set_{hashlib.sha256(source.encode()).hexdigest()[:20]}"


async def get_submission_set(set_id: str) -> SubmissionSet | None:
    stored = await get_record(_SET + set_id, SubmissionSet)
    return stored.record if stored else None


async def put_submission_set(found: SubmissionSet) -> None:
    await commit([Put(_SET + found.id, encode(found), due=NEVER)])
