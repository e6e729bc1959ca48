"""Rate limits per visitor: in memory, per process, and for sign-ins on all nodes together."""

import ipaddress
from datetime import datetime, timedelta
from functools import lru_cache

from vskill_platform.model.rights import Visitor, read_address
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.stores.rate_limit_store import RateQuota, count_one, take_shared
from vskill_platform.web.http.requests import WebConnection

_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
#: The maximum number of visitors to remember; those with the fewest requests are forgotten first.
_MOST = 50_000
#: Size of the cache of parsed addresses.
_REMEMBERED = 10_000


class RateLimits:
    """Allows the quota of a minute or an hour at once, and refills it evenly (GCRA)."""

    def __init__(self) -> None:
        #: For each kind and visitor, the time when the quota is full again.
        self._whole_at: dict[tuple[str, str], float] = {}

    def take(self, kind: str, who: str, *, per_minute: int, now: datetime) -> None:
        """Count one request; raise if the visitor's quota is used up."""
        self._take((kind, who), RateQuota(per_minute, _MINUTE, "requests a minute"), now)

    def take_hourly(self, kind: str, who: str, *, per_hour: int, now: datetime) -> None:
        """Count one request of a kind that is allowed a few times an hour."""
        self._take((kind, who), RateQuota(per_hour, _HOUR, "requests of this kind an hour"), now)

    def _take(self, key: tuple[str, str], quota: RateQuota, now: datetime) -> None:
        self._whole_at[key] = count_one(self._whole_at.get(key), quota, now=now)
        if len(self._whole_at) > _MOST:
            self._forget(now.timestamp())

    def _forget(self, moment: float) -> None:
        """Forget visitors with a full quota; if too few have one, forget the least active half."""
        busy = {key: whole_at for key, whole_at in self._whole_at.items() if whole_at > moment}
        if len(busy) > _MOST // 2:
            loudest = sorted(busy.items(), key=lambda item: item[1])[len(busy) // 2 :]
            busy = dict(loudest)
        self._whole_at = busy


def limits_of(connection: WebConnection) -> RateLimits:
    limits: RateLimits = connection.app.state.limits
    return limits


async def limit_sign_ins(connection: WebConnection, kind: str, who: str) -> None:
    """Count an attempt to sign in, or to guess a code, on all nodes together."""
    rate = get_settings().sign_ins_per_minute
    # In memory first, so that most refused requests need no access to the database.
    limits_of(connection).take(kind, who, per_minute=rate, now=get_now())
    await take_shared(kind, who, RateQuota(rate, _MINUTE, "requests a minute"))


def quota_key(visitor: Visitor) -> str:
    """Return the key of the quota: the user, or without an account the address.

    Tokens have no quota of their own, because more tokens would mean a higher quota.
    """
    return f"user {visitor.user.name}" if visitor.user else address_key(visitor.address)


@lru_cache(_REMEMBERED)
def address_key(address: str) -> str:
    """Return the key of an address: an IPv4 address, or the /64 network of an IPv6 address."""
    found = read_address(address)
    if found is None:
        return "address unknown"
    if isinstance(found, ipaddress.IPv6Address):
        return f"address {ipaddress.ip_network((found, 64), strict=False)}"
    return f"address {found}"
