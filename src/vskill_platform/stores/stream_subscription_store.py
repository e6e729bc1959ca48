"""Lists of skills that a client watches, too long for a URL, stored under their digest."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta

from vskill_platform.engines.ports import NEVER, Put
from vskill_platform.model.record import Record
from vskill_platform.stores.db import commit, get_now
from vskill_platform.stores.records import encode, get_record

_SUBSCRIPTION = "stream-subscription:"
KEPT_FOR = timedelta(days=1)


class StreamSubscription(Record, frozen=True, kw_only=True):
    ids: tuple[str, ...]
    expires_at: datetime


async def get_subscription(subscription_id: str) -> StreamSubscription | None:
    stored = await get_record(_SUBSCRIPTION + subscription_id, StreamSubscription)
    return stored.record if stored else None


async def put_subscription(ids: Sequence[str]) -> tuple[str, StreamSubscription]:
    """Store a list of ids and return its id: the same list is stored once."""
    listed = tuple(sorted(ids))
    subscription_id = f"sub_{hashlib.sha256(encode(listed)).hexdigest()[:32]}"
    subscription = StreamSubscription(ids=listed, expires_at=get_now() + KEPT_FOR)
    await commit(
        [
            Put(
                _SUBSCRIPTION + subscription_id,
                encode(subscription),
                due=NEVER,
                expires_at=subscription.expires_at,
            )
        ]
    )
    return subscription_id, subscription
