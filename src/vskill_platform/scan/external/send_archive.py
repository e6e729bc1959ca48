"""Send a skill to a remote scanner: one signed POST with the archive and a callback URL."""

import asyncio
from datetime import datetime

import httpx2
import msgspec

from vskill_platform.base.outgoing_http import open_http_client
from vskill_platform.base.tls import describe_failure
from vskill_platform.errors import ScannerFailed
from vskill_platform.model.scanner import RemoteScanner
from vskill_platform.scan.external.signature import sign_dispatch

#: How long a scanner may take to confirm that it received the archive.
SEND_SECONDS = 20.0


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """The request to a scanner. A scan may be sent twice, with the same id."""

    scan: str
    #: Identifies the content; the callback must contain it.
    digest: str
    archive_sha256: str
    callback_url: str
    deadline: datetime
    #: A gzipped tar with SKILL.md at its root, in base64.
    archive: bytes


async def send_archive(scanner: RemoteScanner, dispatch: Dispatch, *, now: datetime) -> None:
    """Send the request; raise ScannerFailed for any response other than success."""
    body = msgspec.json.encode(dispatch)
    headers = {
        "content-type": "application/json",
        **sign_dispatch(body, key=scanner.key, now=now),
    }
    try:
        async with (
            asyncio.timeout(SEND_SECONDS),
            open_http_client() as client,
            client.stream("POST", scanner.url, content=body, headers=headers) as response,
        ):
            if not response.is_success:
                raise ScannerFailed(f"it answered {response.status_code} to the request")
    except TimeoutError as error:
        raise ScannerFailed(f"it did not answer within {SEND_SECONDS:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ScannerFailed(f"it cannot be reached ({describe_failure(error)})") from error
