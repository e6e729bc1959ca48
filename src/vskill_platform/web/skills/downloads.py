"""Files on their way out: in pieces from the disk, so that who reads slowly holds no memory."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import chain
from typing import IO, Any

import msgspec
from anyio import CapacityLimiter
from litestar import Request, Response
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from vskill_platform.web.http.concurrency_quota import Shares
from vskill_platform.web.http.head_requests import IS_HEAD
from vskill_platform.web.http.rate_limits import who_asks
from vskill_platform.web.http.visitor import visitor_of

PIECE_BYTES = 64 * 1024
DOWNLOADS = Shares(in_all=100, each=10, what="downloading", retry_after=timedelta(seconds=5))
#: Each is in memory as a whole until it lies on the disk.
_LOADS = CapacityLimiter(4)


class Loaded(msgspec.Struct, frozen=True):
    content: bytes
    media_type: str


Load = Callable[[], Awaitable[Loaded]]
#: What to do once all of it was sent.
Sent = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    pass


class Download(Response[None]):
    """An answer whose content is read when it is this visitor's turn, and not before."""

    def __init__(
        self,
        request: Request[Any, Any, Any],
        load: Load,
        headers: dict[str, str],
        *,
        on_sent: Sent = _nothing,
    ) -> None:
        super().__init__(None, headers=headers)
        self._load = load
        self._on_sent = on_sent
        self._holder = who_asks(visitor_of(request))

    def to_asgi_response(self, app: Any, request: Any, **given: Any) -> ASGIResponse:  # noqa: ARG002 - the framework's
        return _InPieces(
            self._load,
            self._holder,
            self._on_sent,
            headers={**(given.get("headers") or {}), **self.headers},
            cookies=chain(self.cookies, given.get("cookies") or ()),
            is_head_response=given.get("is_head_response", False),
        )


class _InPieces(ASGIResponse):
    def __init__(self, load: Load, holder: str, on_sent: Sent, **given: Any) -> None:
        super().__init__(**given)
        self._load = load
        self._on_sent = on_sent
        self._holder = holder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        # Here, not before: what begins is sure to end, and until the head is sent, what is raised
        # is still answered.
        with DOWNLOADS.held_by(self._holder):
            async with _LOADS:
                loaded = await self._load()
                file = await asyncio.to_thread(_put_down, loaded.content)
            with file:
                self.headers["content-type"] = loaded.media_type
                self.headers["content-length"] = str(len(loaded.content))
                del loaded
                await self.start_response(send)
                await self._send_pieces(file, send)
        if not (self.is_head_response or IS_HEAD in scope):
            await self._on_sent()

    async def _send_pieces(self, file: IO[bytes], send: Send) -> None:
        while not self.is_head_response and (piece := file.read(PIECE_BYTES)):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _put_down(content: bytes) -> IO[bytes]:
    """Write to a file that has no name and is gone once it is closed."""
    file = tempfile.SpooledTemporaryFile(max_size=PIECE_BYTES)  # noqa: SIM115 - the caller does
    file.write(content)
    file.seek(0)
    return file
