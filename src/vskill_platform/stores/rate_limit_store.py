"""Rate limits shared by all nodes: one record for each visitor with a quota that is not full."""

import hashlib
import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from vskill_platform.engines.operations import ABSENT, NEVER, Put
from vskill_platform.errors import TooMany
from vskill_platform.model.record import Record
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.records import encode, get_record

_LIMIT = "rate-limit:"


class UsedLimit(Record, frozen=True, kw_only=True):
    #: When the quota is full again, in seconds since 1970.
    whole_at: float


class RateQuota(NamedTuple):
    most: int
    within: timedelta
    #: The unit for the error message, such as "requests a minute".
    what: str


def count_one(whole_at: float | None, quota: RateQuota, *, now: datetime) -> float:
    """Return when the quota is full again after one more request; raise TooMany if it is used up.

    The whole quota can be used at once; it is refilled evenly (GCRA).
    """
    moment, window = now.timestamp(), quota.within.total_seconds()
    step = window / quota.most
    if whole_at is None or whole_at > moment + window + step:  # the clock was set back
        whole_at = moment
    after = max(whole_at, moment) + step
    wait = after - moment - window
    if wait > step / 1000:  # ignore rounding errors
        raise TooMany(
            f"more than {quota.most} {quota.what}; try again in {math.ceil(wait)} s",
            retry_after=timedelta(seconds=math.ceil(wait)),
        )
    return after


async def take_shared(kind: str, who: str, quota: RateQuota) -> None:
    """Count one request on all nodes together; raise TooMany if the quota is used up."""
    # The key is a digest, so that the database does not contain the visitor's name.
    key = _LIMIT + hashlib.sha256(f"{kind} {who}".encode()).hexdigest()[:32]

    async def plan() -> PlannedChange[None]:
        stored = await get_record(key, UsedLimit)
        known = stored.record.whole_at if stored else None
        used = UsedLimit(whole_at=count_one(known, quota, now=get_now()))
        put = Put(
            key,
            encode(used),
            expected=stored.revision if stored else ABSENT,
            due=NEVER,
            expires_at=datetime.fromtimestamp(used.whole_at, UTC),
        )
        return PlannedChange(operations=[put], result=None)

    await change("a rate limit", plan)
