"""Rate limits per visitor, in memory, per node."""

import ipaddress
import math
from datetime import datetime, timedelta
from functools import lru_cache

from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Visitor, read_address
from vskill_platform.web.http.requests import Connection

_MINUTE = 60.0
#: Most visitors remembered at a time; the quietest are forgotten first.
_MOST = 50_000
#: Size of the cache of parsed addresses.
_REMEMBERED = 10_000


class RateLimits:
    """Allows a minute's worth at once, refilled evenly (GCRA)."""

    def __init__(self) -> None:
        #: For each kind and visitor, the time when the quota is full again.
        self._whole_at: dict[tuple[str, str], float] = {}

    def take(self, kind: str, who: str, *, per_minute: int, now: datetime) -> None:
        """Count one request; raise if the visitor's quota is used up."""
        moment, step = now.timestamp(), _MINUTE / per_minute
        whole_at = self._whole_at.get((kind, who), moment)
        if whole_at > moment + _MINUTE + step:  # the clock was set back
            whole_at = moment
        after = max(whole_at, moment) + step
        wait = after - moment - _MINUTE
        if wait > step / 1000:  # ignore rounding errors
            raise TooMany(
                f"more than {per_minute} requests a minute; try again in {math.ceil(wait)} s",
                retry_after=timedelta(seconds=math.ceil(wait)),
            )
        self._whole_at[kind, who] = after
        if len(self._whole_at) > _MOST:
            self._forget(moment)

    def _forget(self, moment: float) -> None:
        """Forget visitors with a full quota; if they are too few, the quietest half."""
        busy = {key: whole_at for key, whole_at in self._whole_at.items() if whole_at > moment}
        if len(busy) > _MOST // 2:
            loudest = sorted(busy.items(), key=lambda item: item[1])[len(busy) // 2 :]
            busy = dict(loudest)
        self._whole_at = busy


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
