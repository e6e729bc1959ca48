"""Asking a scanner elsewhere: one signed POST with the archive and where to call back."""

import asyncio
import ssl
from datetime import datetime
from functools import cache

import httpx2
import msgspec

from vskill_platform.errors import ScannerFailed
from vskill_platform.model.scanner import RemoteScanner
from vskill_platform.scan.external.signature import sign_dispatch

#: How long a scanner may take to say that it has got the archive.
SEND_SECONDS = 20.0


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a scanner is sent. The same scan may be sent twice: the id tells."""

    scan: str
    #: Names the content; it must be in the answer.
    digest: str
    archive_sha256: str
    callback_url: str
    deadline: datetime
    #: A gzipped tar with SKILL.md at its root, in base 64.
    archive: bytes


async def send_archive(scanner: RemoteScanner, dispatch: Dispatch, *, now: datetime) -> None:
    """Send it; whatever is not a plain yes is ScannerFailed."""
    body = msgspec.json.encode(dispatch)
    headers = {
        "content-type": "application/json",
        **sign_dispatch(body, key=scanner.key, now=now),
    }
    try:
        # No redirects, which could carry a skill elsewhere; no proxy from the environment.
        async with (
            asyncio.timeout(SEND_SECONDS),
            httpx2.AsyncClient(
                verify=_tls(), timeout=None, follow_redirects=False, trust_env=False
            ) as client,
            client.stream("POST", scanner.url, content=body, headers=headers) as response,
        ):
            if not response.is_success:
                raise ScannerFailed(f"it answered {response.status_code} to the dispatch")
    except TimeoutError as error:
        raise ScannerFailed(f"it did not answer within {SEND_SECONDS:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ScannerFailed(f"it cannot be reached ({type(error).__name__})") from error


@cache
def _tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)
