"""On which day somebody was last reminded of something."""

from datetime import date

from vskill_platform.engines.ports import ABSENT, NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit
from vskill_platform.stores.records import Stored, encode, get_record

_REMINDER = "reminder:"


class Reminder(Record, frozen=True, kw_only=True):
    topic: str
    #: In UTC.
    day: date


async def get_reminder(topic: str) -> Stored[Reminder] | None:
    return await get_record(_REMINDER + topic, Reminder)


async def put_reminder(topic: str, day: date, *, expected: int | None) -> bool:
    """Write the day down; False if another node did so meanwhile."""
    reminder = encode(Reminder(topic=topic, day=day))
    put = Put(_REMINDER + topic, reminder, expected=expected or ABSENT, due=NEVER)
    return await commit([put]) is not None
