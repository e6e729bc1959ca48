"""A limit for what a registry sends before the status of a response.

The HTTP library reads any number of interim responses (1xx): a registry that sends nothing else
would use a processor of this machine until the deadline.
"""

import ssl
from typing import Any

import httpcore2
import httpx2

#: How many bytes may come before the status: interim responses and fields of the head.
MAX_HEAD_BYTES = 256 * 1024


class _Head:
    """How many bytes are left before the head must be complete; None when it is."""

    left: int | None = None

    def begin(self, _request: httpx2.Request) -> None:
        self.left = MAX_HEAD_BYTES

    def end(self, _response: httpx2.Response) -> None:
        self.left = None


def limit_heads(client: httpx2.Client) -> httpx2.Client:
    """Limit the heads of all responses of a client that sends one request at a time."""
    head = _Head()
    client.event_hooks = {"request": [head.begin], "response": [head.end]}
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001 - with the proxies of the environment
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _Backend(head)  # noqa: SLF001 - the library has no option for it
    return client


class _Backend(httpcore2.SyncBackend):
    def __init__(self, head: _Head) -> None:
        self._head = head

    def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:
        return _Stream(super().connect_tcp(*args, **options), self._head)


class _Stream(httpcore2.NetworkStream):
    """A connection that ends if the head of a response is too long."""

    def __init__(self, stream: httpcore2.NetworkStream, head: _Head) -> None:
        self._stream = stream
        self._head = head

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._head.left
        if left is None:
            return self._stream.read(max_bytes, timeout)
        if not left:
            raise httpcore2.RemoteProtocolError("the head of the response is too long")
        content = self._stream.read(min(max_bytes, left), timeout)
        self._head.left = left - len(content)
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._head)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
