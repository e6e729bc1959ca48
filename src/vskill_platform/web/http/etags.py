"""Answers that did not change need not be sent again: ETag and 304 for what programs read."""

import hashlib
from typing import Any

from litestar.datastructures import CacheControlHeader
from litestar.enums import ScopeType
from litestar.status_codes import HTTP_200_OK, HTTP_304_NOT_MODIFIED
from litestar.types import ASGIApp, Message, Receive, Scope, Send

#: For handlers whose answer names the moment it was made: a tag could never match.
NEVER_THE_SAME = CacheControlHeader(no_store=True)
_API = "/api/"
#: A larger answer is sent as it comes.
_MAX_BYTES = 1024 * 1024
_PIECE = 2047
_WANTED = b"if-none-match"
_OF_CONTENT = frozenset({b"content-length", b"content-type"})


class ETags:
    """Holds a small JSON answer back until its tag is known; all else passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == ScopeType.HTTP and scope.get("method") == "GET"
        if is_read and scope["path"].startswith(_API):
            send = _Holding(scope, send)
        await self._app(scope, receive, send)


class _Holding:
    """A `send` that looks at the whole of an answer before any of it leaves."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._start: Any = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_small_json(message):
            self._start = message
            return
        if self._start is not None and message["type"] == "http.response.body":
            start, self._start = self._start, None
            if not message.get("more_body"):
                self._tag(start, message)
            await self._send(start)
        await self._send(message)

    def _tag(self, start: Any, body: Any) -> None:
        """Give the answer its tag; if that is what the caller has, send nothing else."""
        tag = f'W/"{_digest(body.get("body", b""))}"'
        headers = [*start["headers"], (b"etag", tag.encode())]
        if tag in _wanted(self._scope):
            start["status"] = HTTP_304_NOT_MODIFIED
            headers = [item for item in headers if item[0].lower() not in _OF_CONTENT]
            body["body"] = b""
        start["headers"] = headers


def _digest(body: bytes) -> str:
    """Name the content; in pieces so small that the interpreter lock is not handed over for them.

    Whoever has it then gives it back after milliseconds, and the digest takes microseconds.
    """
    digest, view = hashlib.sha256(), memoryview(body)
    for start in range(0, len(body), _PIECE):
        digest.update(view[start : start + _PIECE])
    return digest.hexdigest()[:32]


def _is_small_json(start: Any) -> bool:
    headers = {name.lower(): value for name, value in start["headers"]}
    is_json = headers.get(b"content-type", b"").startswith(b"application/json")
    length = int(headers.get(b"content-length", b"0") or 0)
    is_ok = start["status"] == HTTP_200_OK
    has_none = b"etag" not in headers and b"no-store" not in headers.get(b"cache-control", b"")
    return is_ok and is_json and has_none and length <= _MAX_BYTES


def _wanted(scope: Scope) -> set[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == _WANTED]
    return {tag.strip() for value in values for tag in value.split(",")}
