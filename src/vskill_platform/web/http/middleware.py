"""Middleware of every request: worker env, allowed hosts, identity, rate limits, HEAD, ETags."""

import asyncio
import hashlib
import ipaddress
from functools import partial
from typing import Any, cast

from litestar import Request
from litestar.enums import HttpMethod, ScopeType
from litestar.routes import HTTPRoute
from litestar.status_codes import HTTP_200_OK, HTTP_304_NOT_MODIFIED
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from vskill_platform.errors import Busy, Interrupted, NotFound, NotSignedIn, VskillError, WrongHost
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env
from vskill_platform.setting_values import is_loopback
from vskill_platform.settings import Settings, allowed_hosts, variable
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.web.http.concurrency_quota import release_after_response
from vskill_platform.web.http.conditional import is_known
from vskill_platform.web.http.headers import NEW_VISIT
from vskill_platform.web.http.problems import problem_response
from vskill_platform.web.http.rate_limits import RateLimits, address_key, quota_key
from vskill_platform.web.http.requests import (
    CLAWHUB,
    SAFE_METHODS,
    WebRequest,
    cannot_exist,
    is_health,
    is_read,
    request_id_of,
    skips_identity,
)
from vskill_platform.web.http.visitor import (
    VISITOR,
    address_of,
    identify,
    identify_by_path,
    take_path_token,
)

#: A HEAD request for an event stream would never end.
_STREAMS = ("/live/", "/api/v1/submissions/stream", "/api/v1/skills/stream")
#: Scope key of a HEAD request that is handled as GET.
IS_HEAD = "vskill_platform.is_head"
_API_PREFIXES = ("/api/", f"{CLAWHUB}api/")
#: Larger responses get no ETag.
_MAX_BYTES = 1024 * 1024
#: In bytes. From 2,048 bytes on, hashing would release the interpreter lock and wait for it again.
#: Under load, that takes ten times as long as hashing a page of search results.
_HASHED_AT_ONCE = 2047
_WANTED = b"if-none-match"
#: The web server cancels requests that take longer than the grace period.
_STOPPING = "this server is stopping and could not finish the request"
_OF_CONTENT = frozenset({b"content-length", b"content-type"})


class EnvMiddleware:
    def __init__(self, app: ASGIApp, env: WorkerEnv) -> None:
        self._app = app
        self._env = env

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await run_with_worker_env(self._env, partial(self._app, scope, receive, send))


class HeadRequests:
    """Handles HEAD requests as GET without the body, and lists HEAD in responses to OPTIONS."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"] if scope["type"] == ScopeType.HTTP else ""
        if method == HttpMethod.OPTIONS:
            await self._app(scope, receive, partial(_list_methods, scope, send))
            return
        is_head = method == HttpMethod.HEAD
        if not is_head or scope["path"].startswith(_STREAMS):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
            elif not message.get("more_body"):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        # A copy, because the server needs the original method in order not to expect a body.
        as_get = cast("HTTPScope", {**scope, "method": HttpMethod.GET.value, IS_HEAD: True})
        await self._app(as_get, receive, send_head)


async def _list_methods(scope: Scope, send: Send, message: Message) -> None:
    """Set Allow to all methods of the route: Litestar's answer has those of its first handler."""
    if message["type"] == "http.response.start" and (allowed := _methods_of_route(scope)):
        kept = [item for item in message["headers"] if item[0].lower() != b"allow"]
        message["headers"] = [*kept, (b"allow", ", ".join(sorted(allowed)).encode())]
    await send(message)


def _methods_of_route(scope: Scope) -> set[str]:
    """Return the methods of the route that handled a request; none if no route did."""
    template = scope.get("path_template")
    routes = scope["litestar_app"].routes if template else []
    allowed = {
        str(method)
        for route in routes
        if isinstance(route, HTTPRoute) and template in {route.path, route.path_format}
        for method in route.methods
    }
    return allowed | ({"HEAD"} if "GET" in allowed else set())


class ETags:
    """Adds an ETag to small JSON responses of the API, and answers If-None-Match."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == ScopeType.HTTP and scope.get("method") == "GET"
        if is_read and scope["path"].startswith(_API_PREFIXES):
            send = _Holding(scope, send)
        await self._app(scope, receive, send)


class _Holding:
    """A `send` that buffers a response until its tag is known."""

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
        """Add the tag; if the client has the same content, turn the response into a 304."""
        tag = f'W/"{_digest(body.get("body", b""))}"'
        headers = [*start["headers"], (b"etag", tag.encode())]
        if is_known(_if_none_match(self._scope), tag):
            start["status"] = HTTP_304_NOT_MODIFIED
            headers = [item for item in headers if item[0].lower() not in _OF_CONTENT]
            body["body"] = b""
        start["headers"] = headers


def _digest(body: bytes) -> str:
    hashed = hashlib.sha256()
    for start in range(0, len(body), _HASHED_AT_ONCE):
        hashed.update(body[start : start + _HASHED_AT_ONCE])
    return hashed.hexdigest()[:32]


def _is_small_json(start: Any) -> bool:
    headers = {name.lower(): value for name, value in start["headers"]}
    is_json = headers.get(b"content-type", b"").startswith(b"application/json")
    length = int(headers.get(b"content-length", b"0") or 0)
    is_ok = start["status"] == HTTP_200_OK
    has_none = b"etag" not in headers and b"no-store" not in headers.get(b"cache-control", b"")
    return is_ok and is_json and has_none and length <= _MAX_BYTES


def _if_none_match(scope: Scope) -> str:
    return ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == _WANTED)


def check_host(scope: Scope, settings: Settings) -> None:
    """Refuse requests for host names that are not this registry's (DNS rebinding)."""
    named = [value for name, value in scope["headers"] if name.lower() == b"host"]
    host = _host_of(named[0].decode("latin-1")) if len(named) == 1 else ""
    if not host or not _is_ours(host, scope, settings):
        raise WrongHost(
            f"this registry does not answer for the host {host or '(none)'!r}; its operator can "
            f"set {variable('public_url')} or {variable('allowed_hosts')}"
        )


def _is_ours(host: str, scope: Scope, settings: Settings) -> bool:
    if host in allowed_hosts(settings) or is_loopback(host):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # An IP address cannot be rebound. But if a public URL is set, only the address that the client
    # connected to is accepted.
    server = scope.get("server")
    return not settings.public_url or (server is not None and str(address) == server[0])


def _host_of(text: str) -> str:
    """Return the host of a `Host` header in lower case, without its port; empty if invalid."""
    host, _, port = text.lower().rpartition(":") if _has_port(text) else (text.lower(), "", "")
    if port and not (port.isascii() and port.isdigit()):
        return ""
    if host.startswith("[") and host.endswith("]"):
        return host[1:-1]
    return host.removesuffix(".")


def _has_port(text: str) -> bool:
    return ":" in text and not text.endswith("]")


async def _send_problem(request: WebRequest, error: VskillError, send: Send) -> None:
    response = problem_response(request, error).to_asgi_response(app=None, request=request)
    await response(request.scope, request.receive, send)


def _stopped(scope: Scope) -> VskillError:
    """Only a request that changes nothing can be sent again without a look at what was done."""
    is_safe = scope.get("method") in SAFE_METHODS
    return Busy(_STOPPING) if is_safe else Interrupted(_STOPPING)


class AccessMiddleware:
    """Identifies the visitor and counts the request; before the router, so that 404s also count."""

    def __init__(self, app: ASGIApp, limits: RateLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with bound_contextvars(request_id=request_id_of(scope)), release_after_response(scope):
            request: WebRequest = Request(scope, receive, send)
            has_begun = False

            async def send_on(message: Message) -> None:
                nonlocal has_begun
                has_begun = True
                await send(message)

            try:
                await self._identify(request)
                await self._app(scope, receive, send_on)
            except VskillError as error:  # from here or other middleware; the app handles its own
                await _send_problem(request, error, send)
            except asyncio.CancelledError:
                if has_begun:
                    raise
                await _send_problem(request, _stopped(scope), send)

    async def _identify(self, request: WebRequest) -> None:
        token = take_path_token(request.scope)  # first, so that no log shows it
        path = request.scope["path"]
        if is_health(path):
            return
        try:
            check_host(request.scope, get_settings())
            if skips_identity(path):
                return
            found = await (identify_by_path(request, token) if token else identify(request))
        except (NotFound, NotSignedIn, WrongHost):
            self._count(request, address_key(address_of(request)))  # so that guessing is limited
            raise
        request.scope["state"][VISITOR] = found.visitor
        request.scope["state"][NEW_VISIT] = found.new_visit
        self._count(request, quota_key(found.visitor))
        if cannot_exist(path):
            raise NotFound("there is no page at this address")

    def _count(self, request: WebRequest, who: str) -> None:
        settings = get_settings()
        kind, rate = (
            ("read", settings.reads_per_minute)
            if is_read(request.scope)
            else ("write", settings.writes_per_minute)
        )
        self._limits.take(kind, who, per_minute=rate, now=get_now())
