"""Convert exported items back to operations of an engine."""

from vskill_platform.engines.exported import StoredRecord
from vskill_platform.engines.operations import Put
from vskill_platform.engines.ports import BACKGROUND, BACKGROUND_RANK


def put_of(record: StoredRecord) -> Put:
    """Return the operation that writes an exported record."""
    return Put(
        record.key, record.value, due=record.due, expires_at=record.expires_at,
        marks=record.marks, rank=record.rank,
    )  # fmt: skip


def first_turn(group: str, virtual_time: int) -> int:
    """Return the rank at which the turns of an exported message start."""
    return BACKGROUND_RANK if group == BACKGROUND else virtual_time
