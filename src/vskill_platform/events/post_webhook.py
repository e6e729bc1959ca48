"""POST a webhook to a URL that a user chose: public hosts only, no redirects, with limits."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
import msgspec

from vskill_platform.base.outgoing_http import open_http_client
from vskill_platform.base.retry_after import parse_retry_after
from vskill_platform.base.show_text import show
from vskill_platform.errors import InvalidInput, SourceError
from vskill_platform.fetch.allowed_sources import Reach
from vskill_platform.fetch.guarded_proxy import open_proxy
from vskill_platform.fetch.ip_addresses import is_literal
from vskill_platform.settings import Settings, allowed_origins, variable
from vskill_platform.stores.db import get_now

#: For the whole exchange, from the DNS lookup to the response.
DEADLINE_SECONDS = 15.0
_MAX_URL = 1000
#: The longest wait that a receiver can ask for.
_MAX_RETRY_AFTER = timedelta(hours=1)
#: How long a response is read once its status is known, which alone decides.
_BODY_SECONDS = 2.0
#: How much of a response is read and kept.
_MAX_RESPONSE_BYTES = 2048
_MAX_RESPONSE = 500
_PORTS = {"https": 443, "http": 80}


class ReceiverResponse(msgspec.Struct, frozen=True, kw_only=True):
    #: 0 if there was no response.
    status: int = 0
    #: The beginning of the response, or why there was none.
    text: str = ""
    #: How long the receiver asks to wait before the next attempt.
    retry_after: timedelta | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004 - what HTTP calls successful


def checked_webhook_url(text: str, settings: Settings) -> str:
    """Validate the URL of an endpoint, without network access."""
    url = text.strip()
    try:
        parts = urlsplit(url)
        origin = _origin(url)
    except ValueError as error:
        raise InvalidInput("the address must be like https://hooks.example/path") from error
    host = parts.hostname or ""
    is_plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _MAX_URL
    if not is_plain or parts.scheme not in _PORTS or not host or parts.username or parts.password:
        raise InvalidInput(
            "the address must be like https://hooks.example/path, without a user or password"
        )
    is_allowed = origin in allowed_origins(settings, "webhook_private_hosts")
    if not is_allowed and (parts.scheme == "http" or is_literal(host) or "." not in host):
        raise InvalidInput(
            "the address must be https:// with a public host name; an operator can allow others "
            f"in {variable('webhook_private_hosts')}"
        )
    return url


async def post_webhook(
    url: str, body: bytes, headers: dict[str, str], settings: Settings
) -> ReceiverResponse:
    """Send it through a proxy that connects only to public addresses of this host."""
    reach = Reach(
        private_hosts=allowed_origins(settings, "webhook_private_hosts"),
        seconds=DEADLINE_SECONDS,
        host_seconds=settings.host_timeout.total_seconds(),
    )
    async with open_proxy(reach, _origin(url)) as proxy:
        try:
            async with (
                asyncio.timeout(DEADLINE_SECONDS),
                open_http_client(proxy=proxy.url) as client,
                client.stream("POST", url, content=body, headers=headers) as response,
            ):
                received = ReceiverResponse(
                    status=response.status_code,
                    text=await _beginning(response),
                    retry_after=parse_retry_after(
                        response.headers.get("retry-after", ""), get_now(), most=_MAX_RETRY_AFTER
                    ),
                )
                # A refusal by the proxy is not a response of the host.
                return ReceiverResponse(text=str(proxy.problem)) if proxy.problem else received
        except TimeoutError:
            return ReceiverResponse(text=f"no response within {DEADLINE_SECONDS:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, SourceError) as error:
            why = str(proxy.problem or "") or f"{type(error).__name__}: {error}"
            return ReceiverResponse(text=_shown(why))


async def _beginning(response: httpx2.Response) -> str:
    read = b""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in response.aiter_raw():
                read += chunk
                if len(read) >= _MAX_RESPONSE_BYTES:
                    break
    return _shown(read[:_MAX_RESPONSE_BYTES].decode(errors="replace"))


def _shown(text: str) -> str:
    return show(text.strip().replace("\n", " "), limit=_MAX_RESPONSE)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"
