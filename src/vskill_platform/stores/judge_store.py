"""Cached judgements, and the tokens used per day.

Tokens are reserved from the day's budget before a request is sent, and settled afterwards. So no
race can exceed the budget, and if a worker dies during a request, too much is counted, never too
little.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import ABSENT, NEVER, Put
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.judgement import Judgement
from vskill_platform.model.record import Record
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import encode, get_record

log = get_logger(__name__)

_JUDGEMENT = "judge-said:"
_DAY = "judge-day:"
#: The model behind a name can change, so a judgement expires after this time.
JUDGEMENT_TTL = timedelta(days=30)
#: How long the usage of a day is kept.
_DAY_TTL = timedelta(days=400)


class JudgeDay(Record, frozen=True, kw_only=True):
    """The usage of one day (UTC)."""

    day: date
    tokens: int = 0
    calls: int = 0
    cost: float = 0.0


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    tokens: int


class _StoredJudgement(Record, frozen=True, kw_only=True):
    judgement: Judgement


def judgement_key(*question: object) -> str:
    """Return the cache key, which contains everything that the answer depends on."""
    return hashlib.sha256(encode(question)).hexdigest()


async def get_judgement(key: str) -> Judgement | None:
    """Return the cached judgement; an unreadable record counts as none."""
    try:
        stored = await get_record(_JUDGEMENT + key, _StoredJudgement)
    except RecordMalformed as error:
        log.warning("stored judgement skipped", error=str(error))
        return None
    return msgspec.structs.replace(stored.record.judgement, is_cached=True) if stored else None


async def put_judgement(key: str, judgement: Judgement) -> None:
    expires_at = judgement.asked_at + JUDGEMENT_TTL
    value = encode(_StoredJudgement(judgement=judgement))
    await commit([Put(_JUDGEMENT + key, value, due=NEVER, expires_at=expires_at)])


async def reserve_tokens(tokens: int, *, limit: int) -> Reservation | None:
    """Reserve tokens from today's budget; None if not enough are left."""

    def take(used: JudgeDay) -> JudgeDay | None:
        if used.tokens + tokens > limit:
            return None
        return msgspec.structs.replace(used, tokens=used.tokens + tokens, calls=used.calls + 1)

    today = get_now().astimezone(UTC).date()
    is_taken = await _change(today, take)
    return Reservation(day=today, tokens=tokens) if is_taken else None


async def settle_tokens(reservation: Reservation, *, used: int, cost: float = 0.0) -> None:
    """Replace the reservation with the actual usage, on the day of the reservation."""

    def settle(day: JudgeDay) -> JudgeDay:
        tokens = max(day.tokens - reservation.tokens + used, 0)
        return msgspec.structs.replace(day, tokens=tokens, cost=round(day.cost + cost, 6))

    await _change(reservation.day, settle)


async def _change(day: date, update: Callable[[JudgeDay], JudgeDay | None]) -> bool:
    """Change the record of a day; return False if *update* returned None."""
    key, expires_at = f"{_DAY}{day}", datetime.combine(day, time(), UTC) + _DAY_TTL

    async def plan() -> PlannedChange[bool]:
        stored = await get_record(key, JudgeDay)
        updated = update(stored.record if stored else JudgeDay(day=day))
        if updated is None:
            return PlannedChange(result=False)
        expected = stored.revision if stored else ABSENT
        put = Put(key, encode(updated), expected=expected, due=NEVER, expires_at=expires_at)
        return PlannedChange(operations=[put], result=True)

    return await change("the judge's budget", plan)
