"""Count, trace and, if the operator wants it, log every request."""

import time
from typing import Any, cast

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from vskill_platform.base.metrics import count_request
from vskill_platform.base.telemetry import get_logger
from vskill_platform.base.tracing import end_request, request_span
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.http.requests import request_id_of
from vskill_platform.web.http.visitor import hide_path_token

log = get_logger(__name__)

_ROUTE = "vskill_route"
#: The label for all paths that match no route.
_NO_ROUTE = "(none)"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class NoteRoute:
    """Records which route handled a request. Scopes are copied on the way and share the record."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            note: list[str] = cast("Any", scope).get(_ROUTE, [])
            note.append(scope.get("path_template") or _NO_ROUTE)


class RequestLog:
    def __init__(self, app: ASGIApp, env: WorkerEnv) -> None:
        self._app = app
        self._env = env

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        started, method = time.perf_counter(), scope["method"]
        path = hide_path_token(scope["path"])
        note: list[str] = []
        cast("Any", scope)[_ROUTE] = note
        status, size = 500, 0

        async def count(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        with request_span(method, path) as span:
            try:
                await self._app(scope, receive, count)
            finally:
                seconds, route = time.perf_counter() - started, note[0] if note else _NO_ROUTE
                count_request(method if method in _METHODS else "other", route, status, seconds)
                end_request(span, method, route, status)
                if self._env.settings.access_log:
                    log.info(
                        "request",
                        method=method,
                        path=path,
                        status=status,
                        bytes=size,
                        seconds=round(seconds, 4),
                        address=client[0] if (client := scope["client"]) else "",
                        request_id=request_id_of(scope),
                    )
