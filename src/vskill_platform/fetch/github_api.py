"""Ask GitHub who owns a token, and whether it was issued to this registry's application.

Errors contain neither the token nor anything from GitHub's responses.
"""

import asyncio
from http import HTTPStatus
from typing import Annotated, Any

import httpx2
import msgspec

from vskill_platform.base.outgoing_http import BodyTooLarge, open_http_client, read_body
from vskill_platform.base.tls import describe_failure
from vskill_platform.errors import GithubUnavailable, NotSignedIn
from vskill_platform.settings import Settings

#: The timeout of both requests together.
_DEADLINE_SECONDS = 15.0
_MAX_RESPONSE_BYTES = 256 * 1024
#: GitHub's status codes for a token that is invalid, or issued to another application.
_REFUSALS = frozenset({401, 403, 404, 422})


class GithubUser(msgspec.Struct, frozen=True):
    #: Unlike the login, it never changes and is never reassigned.
    id: Annotated[int, msgspec.Meta(gt=0)]
    login: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class _CheckedToken(msgspec.Struct, frozen=True):
    user: GithubUser


async def find_github_user(settings: Settings, token: str) -> GithubUser:
    """Return the owner of a token; raise NotSignedIn if it does not prove who they are.

    A valid token is not enough: any application that the user has authorized has one. So it must
    be a token of the application in the settings.
    """
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS), open_http_client() as client:
            checked = await _ask(client, _check_request(settings, token), _CheckedToken)
            owner: GithubUser = await _ask(client, _user_request(settings, token), GithubUser)
    except TimeoutError as error:
        raise GithubUnavailable("GitHub did not answer in time") from error
    except httpx2.HTTPError as error:
        kind = describe_failure(error)
        raise GithubUnavailable(f"GitHub cannot be reached ({kind})") from error
    if checked.user.id != owner.id:
        raise GithubUnavailable("GitHub gave two different responses about this token")
    return owner


def _check_request(settings: Settings, token: str) -> httpx2.Request:
    client_id, secret = settings.github_client_id, settings.github_client_secret.reveal()
    url = f"{settings.github_api_url.rstrip('/')}/applications/{client_id}/token"
    request = httpx2.Request("POST", url, json={"access_token": token}, headers=_headers())
    auth = httpx2.BasicAuth(client_id, secret)
    return next(auth.auth_flow(request))


def _user_request(settings: Settings, token: str) -> httpx2.Request:
    url = f"{settings.github_api_url.rstrip('/')}/user"
    return httpx2.Request("GET", url, headers={**_headers(), "Authorization": f"Bearer {token}"})


def _headers() -> dict[str, str]:
    return {
        "Accept": "application/vnd.github+json",
        "Accept-Encoding": "identity",
        "User-Agent": "vskill-platform",
    }


async def _ask(client: httpx2.AsyncClient, request: httpx2.Request, kind: Any) -> Any:
    response = await client.send(request, stream=True)
    try:
        if response.status_code in _REFUSALS:
            raise NotSignedIn(
                "GitHub does not accept this token, or it was issued to another application"
            )
        if response.status_code != HTTPStatus.OK:
            raise GithubUnavailable(f"GitHub answered with status {response.status_code}")
        body = await read_body(response, limit=_MAX_RESPONSE_BYTES)
    except BodyTooLarge as error:
        raise GithubUnavailable("the response of GitHub is too large") from error
    finally:
        await response.aclose()
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise GithubUnavailable("the response of GitHub cannot be read") from error
