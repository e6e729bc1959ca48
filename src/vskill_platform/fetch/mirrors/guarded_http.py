"""Requests to other registries over HTTP, through the proxy that checks every address.

Responses are untrusted: their size, encoding and duration and the targets of redirects are limited.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import msgspec

from vskill_platform import __version__
from vskill_platform.base.outgoing_http import BodyTooLarge, open_http_client, read_body
from vskill_platform.base.show_text import show
from vskill_platform.base.tls import describe_failure
from vskill_platform.errors import NotFound, SourceRefused, SourceUnavailable
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.guarded_proxy import open_proxy
from vskill_platform.mirror_settings import Mirror

MAX_RESPONSE_BYTES = 8 * 1024 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 3
_DEFAULT_PORTS = {"https": 443, "http": 80}
#: How much of the text of an error is shown.
_MAX_SHOWN = 300
_MAX_ERROR_BYTES = 64 * 1024


class MirrorResponse(msgspec.Struct, frozen=True):
    status: int
    content: bytes
    #: The target of a redirect; empty if the response is not one.
    location: str = ""


class MirrorClient:
    """A client of one registry; the token is sent to no other host."""

    def __init__(self, mirror: Mirror, reach: Reach) -> None:
        self.mirror = mirror
        self._reach = reach

    async def get_json(self, path: str, **params: str) -> Any:
        """Return the decoded response; raise NotFound if there is nothing at this path."""
        url = str(httpx2.URL(self.mirror.url + path, params=params))
        response = await self._follow(url, MAX_RESPONSE_BYTES, may_leave=False)
        try:
            return msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SourceUnavailable(
                f"{self.mirror.name} did not answer with JSON; is {self.mirror.url} the address "
                f"of a registry of the kind {self.mirror.kind}?"
            ) from error

    async def download(self, url: str, *, limit: int) -> bytes:
        """Return the bytes at *url*; if that is on another host, it is also checked."""
        return (await self._follow(url, limit, may_leave=True)).content

    async def _follow(self, url: str, limit: int, *, may_leave: bool) -> MirrorResponse:
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._get(url, limit)
            if response.status not in _REDIRECTS:
                return self._checked(response)
            target = _target(url, response.location)
            if not may_leave and origin_of(target) != origin_of(url):
                raise SourceRefused(
                    f"{self.mirror.name} redirects to {origin_of(target)}, which is another host"
                )
            url = target
        raise SourceRefused(f"{self.mirror.name} redirects too many times")

    def _checked(self, response: MirrorResponse) -> MirrorResponse:
        if response.status == httpx2.codes.OK:
            return response
        name, reason = self.mirror.name, _error_text(response.content)
        if response.status in {404, 410}:
            raise NotFound(f"{name} has no such skill: {reason}")
        if response.status in {401, 403}:
            raise SourceRefused(f"{name} refuses access (status {response.status}): {reason}")
        raise SourceUnavailable(f"{name} answered with status {response.status}: {reason}")

    async def _get(self, url: str, limit: int) -> MirrorResponse:
        origin = origin_of(url)
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "User-Agent": f"vskill-platform/{__version__} (mirror)",
        }
        token = self.mirror.token.reveal()
        if token and origin == origin_of(self.mirror.url):
            headers["Authorization"] = f"Bearer {token}"
        try:
            async with (
                asyncio.timeout(self._reach.seconds),
                open_proxy(self._reach, origin) as proxy,
            ):
                try:
                    response = await _send(proxy.url, url, headers, limit, self._too_large)
                except httpx2.HTTPError as error:
                    raise proxy.problem or SourceUnavailable(
                        f"{self.mirror.name} cannot be reached at {origin} "
                        f"({describe_failure(error)})"
                    ) from error
                if proxy.problem:  # over plain http its refusal looks like a response
                    raise proxy.problem
                return response
        except TimeoutError as error:
            raise SourceUnavailable(f"{self.mirror.name} did not answer in time") from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise SourceRefused(f"{self.mirror.name} names an address that is not valid") from error

    def _too_large(self, limit: int) -> SourceRefused:
        return SourceRefused(f"{self.mirror.name} sent more than {limit:,} bytes")


async def _send(
    proxy: str,
    url: str,
    headers: dict[str, str],
    limit: int,
    too_large: Callable[[int], SourceRefused],
) -> MirrorResponse:
    async with (
        open_http_client(proxy=proxy) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        if response.status_code in _REDIRECTS:
            return MirrorResponse(response.status_code, b"", response.headers.get("location", ""))
        if response.headers.get("content-encoding", "identity") != "identity":
            raise SourceRefused("the response is compressed, although the request did not allow it")
        try:
            if response.status_code != httpx2.codes.OK:
                limit = min(limit, _MAX_ERROR_BYTES)
            body = await read_body(response, limit=limit)
        except BodyTooLarge as error:
            if response.status_code == httpx2.codes.OK:
                raise too_large(limit) from error
            body = b""
        return MirrorResponse(response.status_code, body)


def origin_of(url: str) -> str:
    """Return scheme, host and port, always with the port; raise if it is not an HTTP address."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError as error:
        raise SourceRefused(f"{show(url, limit=100)} is not a valid address") from error
    is_plain = not (parts.username or parts.password) and url.isprintable()
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or not is_plain:
        raise SourceRefused(f"{show(url, limit=100)} is not an address of a registry")
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _target(url: str, location: str) -> str:
    try:
        target = urljoin(url, location)
    except ValueError as error:
        raise SourceRefused("a redirect leads to an address that is not valid") from error
    if url.startswith("https:") and not target.startswith("https:"):
        raise SourceRefused("a redirect leads from https to plain http")
    return target


def _error_text(content: bytes) -> str:
    """Return the text of an error response: the detail of a problem document, or its plain text."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = content.decode(errors="replace")
        found = "" if "<" in found else found  # a page is too long to show
    if isinstance(found, dict):
        found = found.get("detail") or found.get("message") or found.get("title") or ""
    return show(" ".join(str(found).split()), limit=_MAX_SHOWN) or "no reason given"
