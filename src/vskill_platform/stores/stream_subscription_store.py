"""Lists of skills that a client watches, too long for a URL, stored under their digest."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from vskill_platform.engines.operations import NEVER, Operation, Put
from vskill_platform.errors import TooMany
from vskill_platform.model.record import Record
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.quota_store import get_quota, write_quota
from vskill_platform.stores.records import encode, get_record

_SUBSCRIPTION = "stream-subscription:"
KEPT_FOR = timedelta(days=1)
#: How much all visitors without an account can store per day; most lists have less than a kilobyte.
MAX_ANONYMOUS_BYTES = 64 * 1024 * 1024
#: The name of their quota.
ANONYMOUS = "stream subscriptions without an account"
_RETRY_AFTER = timedelta(hours=1)


class StreamSubscription(Record, frozen=True, kw_only=True):
    ids: tuple[str, ...]
    expires_at: datetime


async def get_subscription(subscription_id: str) -> StreamSubscription | None:
    stored = await get_record(_SUBSCRIPTION + subscription_id, StreamSubscription)
    return stored.record if stored else None


async def put_subscription(
    ids: Sequence[str], *, is_anonymous: bool = False
) -> tuple[str, StreamSubscription]:
    """Store a list of ids and return its id: the same list is stored once.

    Visitors without an account share one daily limit, because one visitor can have many addresses.
    """
    listed = tuple(sorted(ids))
    subscription_id = f"sub_{hashlib.sha256(encode(listed)).hexdigest()[:32]}"
    subscription = StreamSubscription(ids=listed, expires_at=get_now() + KEPT_FOR)
    content = encode(subscription)

    async def plan() -> PlannedChange[None]:
        is_counted = is_anonymous and await get_subscription(subscription_id) is None
        put = Put(
            _SUBSCRIPTION + subscription_id,
            content,
            due=NEVER,
            expires_at=subscription.expires_at,
        )
        operations = [put, *(await _count(len(content)) if is_counted else [])]
        return PlannedChange(operations=operations, result=None)

    await change("the subscriptions", plan)
    return subscription_id, subscription


async def _count(size: int) -> list[Operation]:
    stored = await get_quota(ANONYMOUS, get_now().date())
    quota = stored.record
    if quota.bytes + size > MAX_ANONYMOUS_BYTES:
        raise TooMany(
            "too many subscriptions of visitors without an account today; sign in, or name "
            "the skills in the URL of the stream",
            retry_after=_RETRY_AFTER,
        )
    counted = msgspec.structs.replace(quota, used=quota.used + 1, bytes=quota.bytes + size)
    return [write_quota(counted, expected=stored.revision)]
