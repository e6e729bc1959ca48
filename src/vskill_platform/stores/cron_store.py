"""The last run and the cursor of each cron job, so that one node runs it; and sent reminders."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, NEVER, Delete, Expect, Operation, Put
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit, get_kv, get_now
from vskill_platform.stores.records import (
    Stored,
    decode,
    decode_stored,
    encode,
    get_record,
    list_all_keys,
    read_each,
)

log = get_logger(__name__)

_CRON = "cron:"
#: Where a job that works in parts continues.
_CURSOR = "cron-cursor:"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class CronRun(Record, frozen=True, kw_only=True):
    job: str
    node: str
    started_at: datetime
    #: When its node last reported that the job is still running.
    renewed_at: datetime | None = None
    ended_at: datetime | None = None
    #: The result in words, or the error.
    outcome: str = ""
    is_failure: bool = False
    #: When the next run was requested; None if it is only scheduled.
    asked_at: datetime | None = None


async def get_cron_run(job: str) -> Stored[CronRun] | None:
    """Return the last run; an unreadable record counts as a run long ago.

    Otherwise the job would never run again and replace the record.
    """
    key = _CRON + job
    entry = await get_kv().get(key)
    if entry is None:
        return None
    try:
        return decode_stored(key, entry, CronRun)
    except RecordMalformed as error:
        log.error("record of a cron job cannot be read, the job is run again", error=str(error))
        run = CronRun(job=job, node="", started_at=_LONG_AGO, ended_at=_LONG_AGO)
    return Stored(run, entry.revision)


async def get_cron_runs() -> list[CronRun]:
    keys = await list_all_keys(_CRON)
    return await read_each(keys, lambda key, value: decode(key, value, CronRun))


async def put_cron_run(
    run: CronRun, *, expected: int = ABSENT, also: Sequence[Operation] = ()
) -> int | None:
    """Store a run and return its revision; None if another node was faster."""
    return await commit([Put(_CRON + run.job, encode(run), expected=expected, due=NEVER), *also])


async def make_due(job: str) -> bool:
    """Make a job due; return False if it is running, so that the caller can ask again."""
    last = await get_cron_run(job)
    if last is None or last.record.asked_at:
        return True  # it is already due
    if last.record.ended_at is None:
        return False
    asked = msgspec.structs.replace(last.record, asked_at=get_now())
    return await put_cron_run(asked, expected=last.revision) is not None


def expect_no_cron_run(job: str) -> Operation:
    """Make a commit fail if that job was ever started."""
    return Expect(_CRON + job, ABSENT)


async def get_cursor(job: str) -> str | None:
    """Return where a job continues; None if it starts at the beginning."""
    try:
        stored = await get_record(_CURSOR + job, str)
    except RecordMalformed as error:
        log.error("cursor of a cron job cannot be read, it starts over", error=str(error))
        return None
    return stored.record if stored else None


async def put_cursor(job: str, cursor: str | None) -> None:
    key = _CURSOR + job
    await commit([Put(key, encode(cursor), due=NEVER) if cursor else Delete(key)])


_REMINDER = "reminder:"


class Reminder(Record, frozen=True, kw_only=True):
    topic: str
    #: In UTC.
    day: date


async def get_reminder(topic: str) -> Stored[Reminder] | None:
    return await get_record(_REMINDER + topic, Reminder)


async def put_reminder(
    topic: str, day: date, *, expected: int | None, also: Sequence[Operation] = ()
) -> bool:
    """Store the day; False if another node did so in the meantime."""
    reminder = encode(Reminder(topic=topic, day=day))
    put = Put(_REMINDER + topic, reminder, expected=expected or ABSENT, due=NEVER)
    return await commit([put, *also]) is not None
