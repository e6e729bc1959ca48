"""How many connections one address may hold, so that none can take all of them.

An address over its share loses its oldest idle connection; if all of its connections are at work,
the new one is closed. When the server as a whole is full, the oldest idle connection of anybody
makes room, so idle connections never keep a request out.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

_IPV6_PREFIX = 64
_REMEMBERED = 10_000


class Connection(Protocol):
    def drop(self) -> None:
        """Close it at once; called for idle connections only."""


class ConnectionShares:
    def __init__(self, *, in_all: int, each: int, proxies: Sequence[str] = ()) -> None:
        self._in_all = in_all
        self._each = each
        #: They speak for many: their connections count as nobody's.
        self._proxies = [ipaddress.ip_network(text, strict=False) for text in proxies]
        self._holders: dict[Connection, str] = {}
        self._counts: dict[str, int] = {}
        #: Of each holder and of all together, in the order in which they became idle.
        self._idle_of: dict[str, dict[Connection, None]] = {}
        self._idle: dict[Connection, None] = {}

    def admit(self, connection: Connection, address: str) -> bool:
        """Count a new connection, which is idle; return False if its address has no room for it."""
        holder = "" if self._is_proxy(address) else holder_of(address)
        if holder and self._counts.get(holder, 0) >= self._each:
            if not self._idle_of.get(holder):
                return False
            self._drop(next(iter(self._idle_of[holder])))
        if len(self._holders) >= self._in_all and self._idle:
            self._drop(next(iter(self._idle)))
        self._holders[connection] = holder
        self._counts[holder] = self._counts.get(holder, 0) + 1
        self.note(connection, is_idle=True)
        return True

    def note(self, connection: Connection, *, is_idle: bool) -> None:
        """Write down whether a connection waits for its next request or is at work."""
        holder = self._holders.get(connection)
        if holder is None or (connection in self._idle) is is_idle:
            return
        if is_idle:
            self._idle[connection] = None
            self._idle_of.setdefault(holder, {})[connection] = None
        else:
            del self._idle[connection]
            del self._idle_of[holder][connection]

    def forget(self, connection: Connection) -> None:
        self.note(connection, is_idle=False)
        holder = self._holders.pop(connection, None)
        if holder is None:
            return
        self._counts[holder] -= 1
        if not self._counts[holder]:
            del self._counts[holder]
            self._idle_of.pop(holder, None)

    def _drop(self, connection: Connection) -> None:
        self.forget(connection)
        connection.drop()

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:  # a Unix socket has none, and only a proxy speaks through one
            return True
        return any(found in network for network in self._proxies)


@lru_cache(_REMEMBERED)
def holder_of(address: str) -> str:
    """Return whose connection it is: an IPv4 address, or an IPv6 network, which is one customer."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)
