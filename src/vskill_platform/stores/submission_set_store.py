"""Sets of submissions that were submitted together, from one repo or archive."""

import hashlib
from collections.abc import Collection
from datetime import datetime

import msgspec

from vskill_platform.engines.operations import NEVER, Delete, Operation, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit
from vskill_platform.stores.records import encode, get_record

_SET = "set:"


class SubmissionSet(Record, frozen=True, kw_only=True):
    id: str
    #: The common source.
    source: str
    submission_ids: tuple[str, ...]
    submitter: str
    updated_at: datetime


def set_id_of(source: str) -> str:
    """Return the id of a source's set; if it is submitted again, the set is the same."""
    return f"set_{hashlib.sha256(source.encode()).hexdigest()[:20]}"


async def get_submission_set(set_id: str) -> SubmissionSet | None:
    stored = await get_record(_SET + set_id, SubmissionSet)
    return stored.record if stored else None


async def put_submission_set(found: SubmissionSet) -> None:
    await commit([Put(_SET + found.id, encode(found), due=NEVER)])


async def leave_set(set_id: str, submission_ids: Collection[str]) -> list[Operation]:
    """Return the operations that remove submissions from a set; an empty set is deleted."""
    stored = await get_record(_SET + set_id, SubmissionSet)
    if stored is None:
        return []
    rest = tuple(one for one in stored.record.submission_ids if one not in submission_ids)
    if not rest:
        return [Delete(_SET + set_id, expected=stored.revision)]
    smaller = msgspec.structs.replace(stored.record, submission_ids=rest)
    return [Put(_SET + set_id, encode(smaller), expected=stored.revision, due=NEVER)]
