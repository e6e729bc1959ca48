"""Requests to a registry over HTTP: errors in the registry's words, retries, limits, digests.

The token is sent only to the registry itself, and only over TLS or to this machine.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import httpx2
import msgspec

from vskill_platform import __version__
from vskill_platform.client.addresses import (
    checked_url,
    connect_hint,
    is_confidential,
    is_loopback,
    leads_inside,
    origin_of,
)
from vskill_platform.client.http_client import open_client
from vskill_platform.client.response_deadline import ResponseDeadline
from vskill_platform.client.responses import (
    MIN_BYTES_PER_SECOND,
    OnProgress,
    RegistryResponse,
    check_shape,
    decode_object,
    in_words,
    problem_in,
    read_limited,
    retry_after_of,
)
from vskill_platform.errors import InvalidInput, RegistryError, RegistryUnavailable

USER_AGENT = f"vskill-platform/{__version__}"
MAX_RESPONSE_BYTES = 32 * 1024 * 1024
MAX_DOWNLOAD_BYTES = 256 * 1024 * 1024
_ATTEMPTS = 4
_MAX_REDIRECTS = 5
#: The longest wait before another attempt; a registry that asks for more gets an error instead.
_MAX_WAIT_SECONDS = 60.0
_FIRST_WAIT_SECONDS = 0.5
#: The timeout without a byte. The response to the submission of a repository comes after the
#: repository was read.
_TIMEOUT = httpx2.Timeout(120, connect=15)
#: The time until the response must begin; more for large uploads. After it, there is no retry.
_MAX_SECONDS = 300.0
#: The registry has done nothing, so any request can be sent again.
_NOT_DONE = frozenset({429, 503})
#: A proxy in front of the registry failed, so the request may have been processed.
_UNCLEAR = frozenset({502, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES = 64 * 1024
_UNAUTHORIZED = 401
#: The type of a response whose fields are not used.
ANY_OBJECT = dict[str, Any]


class Registry:
    """A registry and, if *token* is given, the rights of its user."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        token_source: str = "",
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = checked_url(url)
        if token and not is_confidential(self.url):
            raise InvalidInput(
                f"a token is not sent to {self.url}: others could read it on the network; use https"
            )
        if not token.isascii() or not token.isprintable():
            raise InvalidInput("the token contains characters that no token has; copy it again")
        self.token = token
        #: The environment variable with the token; empty if it comes from `login`.
        self._token_source = token_source
        self._sleep, self._clock = sleep, clock
        #: By whether the URL is encrypted, and whether it is this machine.
        self._clients: dict[tuple[bool, bool], httpx2.Client] = {}
        self._deadline = ResponseDeadline()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        while self._clients:
            self._clients.popitem()[1].close()
        self._deadline.close()

    def get_json(
        self, path: str, kind: Any = ANY_OBJECT, /, **params: str | int | bool | None
    ) -> Any:
        """Return the response, checked by type; parameters that are None are not sent."""
        return self._json("GET", path, kind, params=_sent(params))

    def post_json(self, path: str, body: Any = None, kind: Any = ANY_OBJECT, /) -> Any:
        """Send *body* as JSON and return the response, checked by type."""
        content = msgspec.json.encode({} if body is None else body)
        headers = {"Content-Type": "application/json"}
        return self._json("POST", path, kind, headers=headers, content=content)

    def patch_json(self, path: str, body: Any, kind: Any = ANY_OBJECT, /) -> Any:
        """Send the changes as JSON and return the response, checked by type."""
        headers = {"Content-Type": "application/json"}
        content = msgspec.json.encode(body)
        return self._json("PATCH", path, kind, headers=headers, content=content)

    def delete_json(
        self, path: str, kind: Any = ANY_OBJECT, /, **params: str | int | bool | None
    ) -> Any:
        return self._json("DELETE", path, kind, params=_sent(params))

    def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> RegistryResponse:
        """Return a raw response, for callers that use ETags; 304 is not an error."""
        return self._ask("GET", path, limit=MAX_RESPONSE_BYTES, headers=dict(headers or {}))

    def upload(
        self,
        path: str,
        fields: Mapping[str, str],
        files: Iterable[tuple[str, bytes]],
        *,
        kind: Any = ANY_OBJECT,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Send files, each as a part `files` with its path as the name; return the response.

        They are sent again if it is unclear whether they arrived, because the registry treats equal
        content as one submission.
        """
        parts = [("files", (name, content)) for name, content in files]
        request = httpx2.Request("POST", self.url, data=dict(fields), files=parts)
        content = request.read()
        headers = {"Content-Type": request.headers["Content-Type"]}
        return self._json(
            "POST",
            path,
            kind,
            headers=headers,
            content=content,
            on_progress=on_progress,
            is_repeatable=True,
        )

    def download(
        self,
        path: str,
        *,
        sha256: str | None = None,
        limit: int = MAX_DOWNLOAD_BYTES,
        on_progress: OnProgress | None = None,
    ) -> bytes:
        """Return the bytes at *path*; raise if their digest is not *sha256*."""
        content = self._ask("GET", path, limit=limit, on_progress=on_progress).content
        if sha256 is not None and (found := hashlib.sha256(content).hexdigest()) != sha256:
            raise RegistryError(
                f"{self._where(path)}: the download has the SHA-256 {found}, not {sha256}. It is "
                "damaged or was changed on the way; nothing was installed",
                code="digest_mismatch",
            )
        return content

    def page(self, path: str) -> str:
        """Return the URL of a page of this registry, to open in a browser."""
        return self.url + path

    def _json(self, method: str, path: str, kind: Any, **options: Any) -> Any:
        response = self._ask(method, path, limit=MAX_RESPONSE_BYTES, **options)
        try:
            found = decode_object(response.content)
        except ValueError as error:
            raise RegistryError(
                f"{self._where(path)} did not respond with a JSON object; is {self.url} the "
                "address of a registry?",
                status=response.status,
            ) from error
        return check_shape(found, kind)

    def _ask(
        self, method: str, path: str, *, is_repeatable: bool = False, **options: Any
    ) -> RegistryResponse:
        """Send a request, retry it if that is safe, and return the response or raise."""
        start = self._clock()
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            try:
                return self._follow(method, path, **options)
            except RegistryUnavailable as error:
                may_repeat = error.was_not_done or is_repeatable or method == "GET"
                wait = _wait_before(attempt, error.retry_after)
                is_late = self._clock() - start > _MAX_SECONDS
                if is_last or is_late or not may_repeat or wait > _MAX_WAIT_SECONDS:
                    raise
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _follow(self, method: str, path: str, **options: Any) -> RegistryResponse:
        url = self.url + path
        for _ in range(_MAX_REDIRECTS):
            response = self._send(method, url, **options)
            if response.status not in _REDIRECTS:
                return self._checked(path, response)
            target = self._target(path, url, response)
            if method != "GET":
                raise RegistryError(
                    f"{self.url} redirects to {origin_of(target)}; use that address instead",
                    status=response.status,
                )
            options.pop("params", None)
            url = target
        raise RegistryError(f"{self._where(path)} redirects too many times")

    def _target(self, path: str, url: str, response: RegistryResponse) -> str:
        """Return the target of a redirect; raise if nothing may be sent there."""
        try:
            target = urljoin(url, response.headers.get("location", ""))
            parts = urlsplit(target)
        except ValueError as error:
            raise RegistryError(
                f"{self._where(path)} redirects to an address that is not valid"
            ) from error
        if urlsplit(url).scheme == "https" and parts.scheme != "https":
            raise RegistryError(f"{self._where(path)} redirects to {target}, which is not https")
        # Programs inside trust everyone who can reach them, which a registry outside must not
        # exploit.
        if leads_inside(urlsplit(url).hostname or "", parts.hostname or ""):
            raise RegistryError(
                f"{self._where(path)} redirects to {target}, which is in your own network"
            )
        return target

    def _send(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        url: str,
        *,
        limit: int,
        headers: dict[str, str] | None = None,
        params: dict[str, str] | None = None,
        content: bytes | None = None,
        on_progress: OnProgress | None = None,
    ) -> RegistryResponse:
        sent = {"Accept": "application/json", "User-Agent": USER_AGENT, **(headers or {})}
        # Another host gets no token: a registry may store its archives elsewhere.
        if self.token and origin_of(url) == origin_of(self.url):
            sent["Authorization"] = f"Bearer {self.token}"
        body: Iterable[bytes] | None = None
        if content is not None:
            sent["Content-Length"] = str(len(content))
            body = _chunks(content, on_progress)
        seconds = _MAX_SECONDS + len(content or b"") / MIN_BYTES_PER_SECOND
        client, shown = self._opened(url), None if content is not None else on_progress
        trace = {"trace": self._deadline.trace}
        with self._errors(url):
            request = client.build_request(
                method, url, params=params, headers=sent, content=body, extensions=trace
            )
            with self._deadline.within(seconds):
                response = client.send(request, stream=True)
            with closing(response):
                return self._read(url, response, limit, shown)

    def _read(
        self, url: str, response: httpx2.Response, limit: int, on_progress: OnProgress | None
    ) -> RegistryResponse:
        found = {name.lower(): value for name, value in response.headers.items()}
        read = read_limited(
            origin_of(url),
            found,
            response.iter_bytes(),
            limit=limit,
            on_progress=on_progress,
            clock=self._clock,
        )
        return RegistryResponse(status=response.status_code, headers=found, content=read)

    @contextmanager
    def _errors(self, url: str) -> Iterator[None]:
        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise RegistryUnavailable(
                f"cannot connect to {origin_of(url)}: {str(error) or 'timed out'}; "
                f"{connect_hint(error)}",
                was_not_done=True,
            ) from error
        except httpx2.TimeoutException as error:
            raise RegistryUnavailable(f"{origin_of(url)} did not answer in time") from error
        # A host name with an empty label, or one that is too long, is a UnicodeError.
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
            if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
                raise  # the arguments of the request are to blame, not its address
            raise RegistryError(f"{url!r} is not an address of a registry") from error
        except httpx2.HTTPError as error:
            if self._deadline.is_over.is_set():
                raise RegistryUnavailable(f"{origin_of(url)} did not answer in time") from error
            raise RegistryUnavailable(
                f"the connection to {origin_of(url)} failed: {error}"
            ) from error

    def _checked(self, path: str, response: RegistryResponse) -> RegistryResponse:
        if response.status < 400:  # noqa: PLR2004 - the first status of an error
            return response
        problem = problem_in(response)
        message = in_words(self._where(path), response.status, problem)
        if response.status == _UNAUTHORIZED:
            message += f" {self._sign_in_hint}"
        code, status = str(problem.get("code", "")), response.status
        if status in _NOT_DONE or status in _UNCLEAR:
            raise RegistryUnavailable(
                message,
                status=status,
                code=code,
                retry_after=retry_after_of(response),
                was_not_done=status in _NOT_DONE,
                problem=problem,
            )
        raise RegistryError(message, status=status, code=code, problem=problem)

    @property
    def _sign_in_hint(self) -> str:
        if self._token_source:
            return f"Replace the token in {self._token_source}."
        return f"Sign in with: vskill-platform login {self.url}"

    def _where(self, path: str) -> str:
        return self.url + path.partition("?")[0]

    def _opened(self, url: str) -> httpx2.Client:
        """Return the client for a URL; a redirect may lead from one kind to the other."""
        parts = urlsplit(url)
        kind = (parts.scheme == "https", is_loopback(parts.hostname or ""))
        if kind not in self._clients:
            self._clients[kind] = open_client(url, _TIMEOUT)
        return self._clients[kind]


def _sent(params: Mapping[str, str | int | bool | None]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in params.items()
        if value is not None
    }


def _chunks(content: bytes, on_progress: OnProgress | None) -> Iterator[bytes]:
    for start in range(0, len(content), _CHUNK_BYTES):
        chunk = content[start : start + _CHUNK_BYTES]
        yield chunk
        if on_progress:
            on_progress(start + len(chunk), len(content))


def _wait_before(attempt: int, asked: timedelta | None) -> float:
    return asked.total_seconds() if asked is not None else _FIRST_WAIT_SECONDS * 2**attempt
