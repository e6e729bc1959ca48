"""How long a connection may keep the server waiting before it is ended.

Who opens a connection and says nothing, stops in the middle of a request or never reads the answer
would else hold it for ever. A proxy in front usually does the same; this holds also without one.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from vskill_platform.cli.connection_limits import ConnectionShares

#: From the opening of a connection to the end of the first request's head.
FIRST_HEAD_SECONDS = 10.0
#: From the end of the last request to the end of the next one's head.
HEAD_SECONDS = 30.0
#: So much of a body, or all of it, has to come in so much time: a large one may take as long as
#: it needs, as long as it moves.
BODY_SECONDS = 120.0
BODY_BYTES = 256 * 1024
#: And so much of an answer has to be read.
ANSWER_SECONDS = 60.0
ANSWER_BYTES = 64 * 1024


_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Retry-After: 5\r\nConnection: close\r\nContent-Length: 62\r\n\r\n"
    b"Too many connections from your address; close some and retry.\n"
)


class PatientProtocol(H11Protocol):
    #: Of the server that it belongs to; None bounds nobody.
    shares: ConnectionShares | None = None

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
            transport.write(_FULL)
            transport.close()
            return
        super().connection_made(transport)
        self._look()

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
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def _look(self) -> None:
        """Begin to wait anew if something else is waited for, or enough has come of a body."""
        phase = self.conn.their_state
        self._has_asked = self._has_asked or phase is not h11.IDLE
        if self.shares:
            # A request that could not be understood has no cycle, and its phase is an error.
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
        if self.flow.read_paused:  # nothing can come: it is us who are slow
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
        self._writing = self.loop.call_later(ANSWER_SECONDS, self._end_writing)

    def _end_writing(self) -> None:
        if self._unsent - self.transport.get_write_buffer_size() >= ANSWER_BYTES:
            self._wait_for_reader()
        else:
            self.transport.abort()


def protocol_with(of_server: ConnectionShares) -> type[PatientProtocol]:
    """Return the protocol of a server whose connections are shared out."""

    class SharedProtocol(PatientProtocol):
        shares = of_server

    return SharedProtocol


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
