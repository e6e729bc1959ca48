"""How often one visitor may ask; counted in memory, by each node for itself."""

import ipaddress
import math
from datetime import datetime, timedelta
from functools import lru_cache

from vskill_platform.errors import TooMany
from vskill_platform.model.rights import Visitor, read_address
from vskill_platform.web.http.requests import Connection

_MINUTE = 60.0
#: Visitors who are remembered at the same time; who has been quiet is forgotten first.
_MOST = 50_000
#: Addresses whose household need not be worked out again.
_REMEMBERED = 10_000


class RateLimits:
    """A minute's worth at once, and from then on as it comes back, evenly."""

    def __init__(self) -> None:
        #: For each kind and visitor the moment when all of it will have come back.
        self._whole_at: dict[tuple[str, str], float] = {}

    def take(self, kind: str, who: str, *, per_minute: int, now: datetime) -> None:
        """Count one; raise if this visitor has had a minute's worth."""
        moment, step = now.timestamp(), _MINUTE / per_minute
        whole_at = self._whole_at.get((kind, who), moment)
        if whole_at > moment + _MINUTE + step:  # the clock went back
            whole_at = moment
        after = max(whole_at, moment) + step
        wait = after - moment - _MINUTE
        if wait > step / 1000:  # what is left is rounding
            raise TooMany(
                f"more than {per_minute} requests a minute; try again in {math.ceil(wait)} s",
                retry_after=timedelta(seconds=math.ceil(wait)),
            )
        self._whole_at[kind, who] = after
        if len(self._whole_at) > _MOST:
            self._forget(moment)

    def _forget(self, moment: float) -> None:
        """Forget who has all of it back; if those are too few, half of all, the quietest first."""
        busy = {key: whole_at for key, whole_at in self._whole_at.items() if whole_at > moment}
        if len(busy) > _MOST // 2:
            loudest = sorted(busy.items(), key=lambda item: item[1])[len(busy) // 2 :]
            busy = dict(loudest)
        self._whole_at = busy


def limits_of(connection: Connection) -> RateLimits:
    limits: RateLimits = connection.app.state.limits
    return limits


def who_asks(visitor: Visitor) -> str:
    """Name who is counted: a user, whatever they sign in with, or the address of somebody unknown.

    Not each token by itself: who makes more of them would have more.
    """
    return f"user {visitor.user.name}" if visitor.user else household(visitor.address)


@lru_cache(_REMEMBERED)
def household(address: str) -> str:
    """Return what one visitor has of addresses: of the newer kind that is a whole network."""
    found = read_address(address)
    if found is None:
        return "address unknown"
    if isinstance(found, ipaddress.IPv6Address):
        return f"address {ipaddress.ip_network((found, 64), strict=False)}"
    return f"address {found}"
