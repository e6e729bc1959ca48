"""HTTP clients for hosts that others run, with limits on what a response may cost.

No redirects, which could send a secret elsewhere; no proxy or .netrc from the environment. The
library has no limit for interim responses (1xx) and none for the number of chunks: a host could use
a processor until the deadline with few bytes, and block all other work meanwhile.
"""

import asyncio
import ssl
from typing import Any

import httpcore2
import httpx2

from vskill_platform.base.tls import tls_context

#: How many bytes may come before the status: interim responses and fields of the head.
MAX_HEAD_BYTES = 64 * 1024
#: How much of the head is read at a time, because reading it blocks all other work.
_HEAD_PIECE = 4 * 1024
#: A body may have this many chunks, and one more for each of so many bytes.
_CHUNKS, _BYTES_PER_CHUNK = 1_000, 64
#: After how many chunks other work gets its turn.
_CHUNKS_AT_ONCE = 100


class BodyTooLarge(Exception):
    """The body has more bytes than the caller accepts, or far too many chunks."""


def open_http_client(*, proxy: str | None = None) -> httpx2.AsyncClient:
    """Return a client for one request at a time; the caller sets a deadline for each."""
    return httpx2.AsyncClient(
        transport=_Transport(proxy), timeout=None, follow_redirects=False, trust_env=False
    )


async def read_body(response: httpx2.Response, *, limit: int) -> bytes:
    """Return the body as it was sent; raise BodyTooLarge as soon as it is too large."""
    body, chunks = bytearray(), 0
    async for chunk in response.aiter_raw():
        body += chunk
        chunks += 1
        if len(body) > limit or chunks > _CHUNKS + len(body) // _BYTES_PER_CHUNK:
            raise BodyTooLarge
        if chunks % _CHUNKS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return bytes(body)


class _Head:
    """How many bytes are left before the head must be complete; None when it is."""

    left: int | None = None


class _Transport(httpx2.AsyncHTTPTransport):
    def __init__(self, proxy: str | None) -> None:
        super().__init__(verify=tls_context(), trust_env=False, proxy=proxy)
        self._head = _Head()
        self._pool._network_backend = _Backend(self._head)  # noqa: SLF001 - the library has no option for it

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._head.left = MAX_HEAD_BYTES
        try:
            return await super().handle_async_request(request)
        finally:
            self._head.left = None


class _Backend(httpcore2.AnyIOBackend):
    def __init__(self, head: _Head) -> None:
        self._head = head

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await super().connect_tcp(*args, **options), self._head)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that ends if the head of a response is too long."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, head: _Head) -> None:
        self._stream = stream
        self._head = head

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - the library's
        left = self._head.left
        if left is None:
            return await self._stream.read(max_bytes, timeout)
        if not left:
            raise httpcore2.RemoteProtocolError("the head of the response is too long")
        content = await self._stream.read(min(max_bytes, left, _HEAD_PIECE), timeout)
        self._head.left = left - len(content)
        return content

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - the library's
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's
    ) -> httpcore2.AsyncNetworkStream:
        inner = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(inner, self._head)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
