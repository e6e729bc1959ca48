"""A loopback proxy for one fetch of git, a mirror or a webhook; it refuses private addresses.

The client asks the proxy for every connection, by host name. The proxy refuses all hosts except
that of the submitted URL, resolves the name, checks all addresses and connects to one of the
checked addresses, so DNS rebinding has no effect. TLS stays end to end between the client and the
host. See docs/decisions/0008.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import (
    HostUnresponsive,
    SourceError,
    SourceRefused,
    SourceUnavailable,
)
from vskill_platform.fetch import ip_addresses
from vskill_platform.fetch.allowed_sources import Reach

log = get_logger(__name__)

#: Maximum transfer of one fetch; the limit for a skill's own files is lower.
MAX_FETCH_BYTES = 256 * 1024 * 1024
_CHUNK = 64 * 1024
_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class _Request(msgspec.Struct, frozen=True):
    scheme: str
    host: str
    port: int
    #: The first bytes to send to the host.
    head: bytes

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


class _HostTimeout:
    """The read timeout of a host. It is paused while git processes received data."""

    def __init__(self, host: str, seconds: float) -> None:
        self.complaint = (
            f"the host {host} accepted the connection but sent nothing for {seconds:g} s"
        )
        self._seconds = seconds
        self._time = asyncio.get_running_loop().time
        self._asked_at: float | None = None
        self._was_asked = asyncio.Event()

    def asked(self) -> None:
        if self._asked_at is None:
            self._asked_at = self._time()
            self._was_asked.set()

    def answered(self) -> None:
        self._asked_at = None
        self._was_asked.clear()

    async def run_out(self) -> None:
        """Wait until the host has left a request unanswered for too long, then return."""
        while True:
            await self._was_asked.wait()
            asked_at = self._asked_at
            left = self._seconds if asked_at is None else asked_at + self._seconds - self._time()
            if left <= 0:
                return
            await asyncio.sleep(left)


class GuardedProxy:
    def __init__(self, reach: Reach, origin: str) -> None:
        self._reach = reach
        #: Scheme, host and port of the only allowed host.
        self._origin = origin
        self._room = MAX_FETCH_BYTES
        self._connections: set[asyncio.Task[None]] = set()
        self.url = ""
        #: The first refused request; git only sees a 403.
        self.problem: SourceError | None = None

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle a connection in a tracked task, so that it ends with the proxy."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def hang_up(self) -> None:
        """Close all open connections."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(*_BROKEN):
                await self._forward(reader, writer)
        except SourceError as error:
            self.problem = self.problem or error
            with suppress(*_BROKEN):
                writer.write(b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n")
                await writer.drain()
        finally:
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = _read_request(await reader.readuntil(b"\r\n\r\n"))
        from_host, to_host = await self._connect(request)
        try:
            if request.head:
                to_host.write(request.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await self._relay(request, reader, to_host, from_host, writer)
        finally:
            to_host.close()

    async def _connect(
        self, request: _Request
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = request.host
        if request.origin != self._origin:
            raise SourceRefused(
                f"the repo's host redirects to {request.origin}; submit that address"
            )
        try:
            found = await ip_addresses.resolve(host, request.port)
        except (OSError, UnicodeError, ValueError) as error:
            raise _not_found(host) from error
        if request.origin not in self._reach.private_hosts:
            self._check(request, found)
        for address in found:
            with suppress(OSError):
                return await asyncio.wait_for(
                    asyncio.open_connection(str(address), request.port), self._reach.host_seconds
                )
        raise HostUnresponsive(f"the host {host} does not answer")

    def _check(self, request: _Request, found: list[ip_addresses.Address]) -> None:
        if request.scheme != "https":
            raise SourceRefused(
                f"{request.host} would be contacted without TLS, which is not allowed"
            )
        private = [address for address in found if not ip_addresses.is_public(address)]
        if private:
            # The log only: in the submitter's error it would reveal details of the internal
            # network.
            log.warning("address refused", host=request.host, addresses=[str(a) for a in private])
            if not ip_addresses.is_literal(request.host):
                raise _not_found(request.host)
            raise SourceRefused(f"{request.host} is not a public address")

    async def _relay(
        self,
        request: _Request,
        from_git: asyncio.StreamReader,
        to_host: asyncio.StreamWriter,
        from_host: asyncio.StreamReader,
        to_git: asyncio.StreamWriter,
    ) -> None:
        timeout = _HostTimeout(request.host, self._reach.host_seconds)
        if request.head:
            timeout.asked()
        upwards = asyncio.create_task(self._pump(from_git, to_host, timeout.asked))
        downwards = asyncio.create_task(self._pump(from_host, to_git, timeout.answered))
        running_out = asyncio.create_task(timeout.run_out())
        ends = {downwards, running_out}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if running_out.done():
                raise HostUnresponsive(timeout.complaint)
            await downwards
        finally:
            for task in (upwards, *ends):
                task.cancel()
            await asyncio.gather(upwards, *ends, return_exceptions=True)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        note: Callable[[], None],
    ) -> None:
        while chunk := await reader.read(_CHUNK):
            note()
            self._room -= len(chunk)
            if self._room < 0:
                raise SourceRefused(f"the repo's host sent more than {MAX_FETCH_BYTES:,} bytes")
            writer.write(chunk)
            await writer.drain()


def _not_found(host: str) -> SourceUnavailable:
    """Return the error for an unknown name, and for one that resolves to a private address.

    Both get the same error and the same retries; a difference would reveal internal names.
    """
    return SourceUnavailable(f"no public host {host} can be found")


@asynccontextmanager
async def open_proxy(reach: Reach, origin: str) -> AsyncIterator[GuardedProxy]:
    """Start a proxy that only connects to *origin*."""
    proxy = GuardedProxy(reach, origin)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.hang_up()


def _read_request(head: bytes) -> _Request:
    """Parse `CONNECT host:port` or a request with an absolute http URL."""
    line, _, fields = head.decode("latin-1").partition("\r\n")
    try:
        method, target, version = line.split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise SourceRefused("the host redirected git to an invalid address") from None
    if method == "CONNECT":
        return _Request("https", host, port or 443, b"")
    if parts.scheme != "http" or not host:
        raise SourceRefused(f"the host redirected git to {parts.scheme}://, which is not allowed")
    # One request per connection, because the next may be for another host, which must be checked.
    kept = [
        field
        for field in fields.split("\r\n")
        if field and not field.lower().startswith(("proxy-", "connection:"))
    ]
    place = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    lines = [f"{method} {place} {version}", *kept, "Connection: close", "", ""]
    return _Request("http", host, port or 80, "\r\n".join(lines).encode("latin-1"))
