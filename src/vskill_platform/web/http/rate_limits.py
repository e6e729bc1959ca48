"""Rate limits per visitor, in memory, per node."""

import ipaddress
import math
from datetime import datetime, timedelta
from functools import lru_cache

from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Visitor, read_address
from vskill_platform.web.http.requests import Connection

_MINUTE, _HOUR = 60.0, 3600.0
#: Most visitors remembered at a time; the quietest are forgotten first.
_MOST = 50_000
#: Size of the cache of parsed addresses.
_REMEMBERED = 10_000


class RateLimits:
    """Allows a minute's or an hour's worth at once, refilled evenly (GCRA)."""

    def __init__(self) -> None:
        #: For each kind and visitor, the time when the quota is full again.
        self._whole_at: dict[tuple[str, str], float] = {}

    def take(self, kind: str, who: str, *, per_minute: int, now: datetime) -> None:
        """Count one request; raise if the visitor's quota is used up."""
        wait = self._take((kind, who), _MINUTE / per_minute, _MINUTE, now.timestamp())
        if wait:
            raise _too_many(f"{per_minute} requests a minute", wait)

    def take_hourly(self, kind: str, who: str, *, per_hour: int, now: datetime) -> None:
        """Count one request of a kind that is allowed a few times an hour."""
        wait = self._take((kind, who), _HOUR / per_hour, _HOUR, now.timestamp())
        if wait:
            raise _too_many(f"{per_hour} requests of this kind an hour", wait)

    def _take(self, key: tuple[str, str], step: float, window: float, moment: float) -> int:
        """Count one request; return the seconds to wait, and count nothing, if it is too many."""
        whole_at = self._whole_at.get(key, moment)
        if whole_at > moment + window + step:  # the clock was set back
            whole_at = moment
        after = max(whole_at, moment) + step
        wait = after - moment - window
        if wait > step / 1000:  # ignore rounding errors
            return math.ceil(wait)
        self._whole_at[key] = after
        if len(self._whole_at) > _MOST:
            self._forget(moment)
        return 0

    def _forget(self, moment: float) -> None:
        """Forget visitors with a full quota; if they are too few, the quietest half."""
        busy = {key: whole_at for key, whole_at in self._whole_at.items() if whole_at > moment}
        if len(busy) > _MOST // 2:
            loudest = sorted(busy.items(), key=lambda item: item[1])[len(busy) // 2 :]
            busy = dict(loudest)
        self._whole_at = busy


def _too_many(quota: str, wait: int) -> TooMany:
    return TooMany(f"more than {quota}; try again in {wait} s", retry_after=timedelta(seconds=wait))


def limits_of(connection: Connection) -> RateLimits:
    limits: RateLimits = connection.app.state.limits
    return limits


def quota_key(visitor: Visitor) -> str:
    """Return whose quota counts: the user's, or that of the address without an account.

    Not one for each token: more tokens would mean a higher quota.
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
