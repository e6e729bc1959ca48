"""Clients that hold a connection without using it: time limits, and a limit for each address.

Otherwise a client could hold a connection forever by sending nothing, by stopping in the middle of
a request or by never reading the response. A proxy in front usually also prevents this; these
limits work without one.

This is a subclass of uvicorn's `H11Protocol` and depends on its internals, so pyproject.toml bounds
uvicorn's version and `test_slow_clients.py` checks every attribute that is used here.
"""

import asyncio
import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from vskill_platform.web.http.problem_kinds import ProblemKind
from vskill_platform.web.http.raw_problem import raw_problem

#: The time from the opening of a connection to the end of the first request's headers.
FIRST_HEAD_SECONDS = 10.0
#: The time from the end of a request to the end of the next one's headers.
HEAD_SECONDS = 30.0
#: BODY_BYTES, or the rest of the body, must arrive within BODY_SECONDS: large bodies may take
#: longer in total, but must make progress.
BODY_SECONDS = 120.0
BODY_BYTES = 256 * 1024
#: The same for reading the response.
RESPONSE_SECONDS = 60.0
RESPONSE_BYTES = 64 * 1024

_TOO_MANY = ProblemKind(503, "busy", "Server busy", "Close some and try again after Retry-After.")
_TOO_MANY_DETAIL = "too many connections from your address"
_RETRY_SECONDS = 5
_MALFORMED = ProblemKind(
    400, "invalid_input", "Invalid request", "Correct the request line and the headers."
)
_MALFORMED_DETAIL = "this is not valid HTTP/1.1, or the head of the request is too long"
_IPV6_PREFIX = 64
_REMEMBERED = 10_000


class ClientConnection(Protocol):
    def drop(self) -> None:
        """Close it at once; called only for idle connections."""


class ConnectionQuota:
    def __init__(self, *, in_all: int, each: int, proxies: Sequence[str] = ()) -> None:
        self._in_all = in_all
        self._each = each
        #: Proxies forward many clients, so their connections are not limited.
        self._proxies = [ipaddress.ip_network(text, strict=False) for text in proxies]
        self._holders: dict[ClientConnection, str] = {}
        self._counts: dict[str, int] = {}
        #: By holder and in total, in the order in which they became idle.
        self._idle_of: dict[str, dict[ClientConnection, None]] = {}
        self._idle: dict[ClientConnection, None] = {}

    def admit(self, connection: ClientConnection, address: str) -> bool:
        """Count a new connection, which is idle; return False if its address has too many."""
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

    def note(self, connection: ClientConnection, *, is_idle: bool) -> None:
        """Record whether a connection is idle or handles a request."""
        holder = self._holders.get(connection)
        if holder is None or (connection in self._idle) is is_idle:
            return
        if is_idle:
            self._idle[connection] = None
            self._idle_of.setdefault(holder, {})[connection] = None
        else:
            del self._idle[connection]
            del self._idle_of[holder][connection]

    def forget(self, connection: ClientConnection) -> None:
        self.note(connection, is_idle=False)
        holder = self._holders.pop(connection, None)
        if holder is None:
            return
        self._counts[holder] -= 1
        if not self._counts[holder]:
            del self._counts[holder]
            self._idle_of.pop(holder, None)

    def _drop(self, connection: ClientConnection) -> None:
        self.forget(connection)
        connection.drop()

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:  # a Unix socket, which only a proxy uses
            return True
        return any(found in network for network in self._proxies)


@lru_cache(_REMEMBERED)
def holder_of(address: str) -> str:
    """Return the holder of a connection: an IPv4 address, or the /64 network of an IPv6 address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)


class TimeLimitedProtocol(H11Protocol):
    #: The server's limits; None for no limits.
    shares: ConnectionQuota | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._phase: Any = None
        self._has_asked = False
        self._received = 0
        self._unsent = 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        if self.shares and not self.shares.admit(self, address):
            self.transport = transport
            transport.write(raw_problem(_TOO_MANY, _TOO_MANY_DETAIL, retry_after=_RETRY_SECONDS))
            transport.close()
            return
        super().connection_made(transport)
        self._update_timer()

    def drop(self) -> None:
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.shares:
            self.shares.forget(self)
        _stop(self._reading)
        _stop(self._writing)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._update_timer()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text has no details
        """Refuse a malformed request with a problem, like every other error."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(raw_problem(_MALFORMED, _MALFORMED_DETAIL))
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_timer()

    def _update_timer(self) -> None:
        """Restart the timer when the phase changes or the body makes progress."""
        phase = self.conn.their_state
        self._has_asked = self._has_asked or phase is not h11.IDLE
        if self.shares:
            # A malformed request has no cycle, and its state is ERROR.
            is_idle = phase is h11.IDLE and (not self._has_asked or self.cycle.response_complete)
            self.shares.note(self, is_idle=is_idle)
        if phase is self._phase and (phase is h11.IDLE or self._received < BODY_BYTES):
            return
        self._phase, self._received = phase, 0
        self._wait_on()

    def _wait_on(self) -> None:
        _stop(self._reading)
        head = HEAD_SECONDS if self._has_asked else min(FIRST_HEAD_SECONDS, HEAD_SECONDS)
        seconds = {h11.IDLE: head, h11.SEND_BODY: BODY_SECONDS}.get(self._phase)
        if seconds is not None and not self.transport.is_closing():
            self._reading = self.loop.call_later(seconds, self._end_reading)

    def _end_reading(self) -> None:
        if self.flow.read_paused:  # the server is slow, not the client
            self._wait_on()
        else:
            self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._writing)

    def _wait_for_reader(self) -> None:
        _stop(self._writing)
        self._unsent = self.transport.get_write_buffer_size()
        self._writing = self.loop.call_later(RESPONSE_SECONDS, self._end_writing)

    def _end_writing(self) -> None:
        if self._unsent - self.transport.get_write_buffer_size() >= RESPONSE_BYTES:
            self._wait_for_reader()
        else:
            self.transport.abort()


def protocol_with(of_server: ConnectionQuota) -> type[TimeLimitedProtocol]:
    """Return the protocol class for a server with connection limits."""

    class SharedProtocol(TimeLimitedProtocol):
        shares = of_server

    return SharedProtocol


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
