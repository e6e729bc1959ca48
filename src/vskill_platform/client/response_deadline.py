"""A deadline for the head of a response, because a registry may send it byte by byte, forever.

The timeouts of the HTTP client apply to each byte. So after the deadline another thread shuts down
the connections, and the request fails.
"""

import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

#: More connections than a registry and the hosts of its redirects need.
_MAX_CONNECTIONS = 8
_CONNECTED = "connection.connect_tcp.complete"


class ResponseDeadline:
    """Knows the open connections of one client, which sends one request at a time."""

    def __init__(self) -> None:
        #: Copies, because TLS takes the socket away from the connected object.
        self._sockets: deque[socket.socket] = deque()
        self._lock = threading.Lock()
        #: Whether the last request took too long.
        self.is_over = threading.Event()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember each new connection; called by the HTTP client."""
        if event != _CONNECTED:
            return
        copy = info["return_value"].get_extra_info("socket").dup()
        with self._lock:
            self._sockets.append(copy)
            old = self._sockets.popleft() if len(self._sockets) > _MAX_CONNECTIONS else None
        if old:
            old.close()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Run a request; if its response does not begin in time, set `is_over` and let it fail."""
        self.is_over.clear()
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        self.is_over.set()
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):  # the other side closed it first
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            while self._sockets:
                self._sockets.pop().close()
