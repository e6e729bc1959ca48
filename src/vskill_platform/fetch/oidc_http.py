"""Requests to the OpenID Connect provider that the operator chose, limited in size and time.

The operator chose its address, so it may be private. Errors contain neither secrets nor anything
from the provider's responses.
"""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote_plus

import httpx2
import msgspec

from vskill_platform.base.outgoing_http import BodyTooLarge, open_http_client, read_body
from vskill_platform.base.tls import describe_failure
from vskill_platform.errors import NotSignedIn, ProviderUnavailable
from vskill_platform.model.oidc import ProviderMetadata
from vskill_platform.secret_settings import Secret
from vskill_platform.sign_on_settings import is_safe_url

#: The timeout of one request with its response.
_DEADLINE_SECONDS = 10.0
_MAX_RESPONSE_BYTES = 512 * 1024
_MAX_KEYS = 100
_DISCOVERY = "/.well-known/openid-configuration"
_BASIC, _POST = "client_secret_basic", "client_secret_post"
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "vskill-platform",
}
Decoded = TypeVar("Decoded")


class ProviderTokens(msgspec.Struct, frozen=True, kw_only=True):
    id_token: str
    access_token: str = ""


class ClientCredentials(msgspec.Struct, frozen=True, kw_only=True):
    client_id: str
    client_secret: Secret


class _KeySet(msgspec.Struct, frozen=True):
    keys: tuple[dict[str, Any], ...]


async def fetch_metadata(issuer: str) -> ProviderMetadata:
    """Return the provider's metadata, which must name the requested issuer."""
    request = httpx2.Request("GET", issuer.rstrip("/") + _DISCOVERY, headers=_HEADERS)
    found = await _ask(request, ProviderMetadata)
    if found.issuer != issuer:
        raise ProviderUnavailable(
            "the provider names another issuer than the one in the settings (VSKILL_OIDC_ISSUER); "
            "copy it exactly, with or without a slash at its end"
        )
    # A provider that only signs tokens, such as that of a CI system, publishes only keys.
    optional = (
        found.authorization_endpoint,
        found.token_endpoint,
        found.userinfo_endpoint,
        found.end_session_endpoint,
    )
    for url in (found.jwks_uri, *filter(None, optional)):
        if not is_safe_url(url.partition("?")[0]):
            raise ProviderUnavailable("the provider has an endpoint without https")
    return found


async def fetch_keys(metadata: ProviderMetadata) -> tuple[dict[str, Any], ...]:
    """Return the public keys with which the provider signs."""
    found = await _ask(httpx2.Request("GET", metadata.jwks_uri, headers=_HEADERS), _KeySet)
    if len(found.keys) > _MAX_KEYS:
        raise ProviderUnavailable("the provider publishes too many keys")
    return found.keys


async def redeem_code(
    metadata: ProviderMetadata, client: ClientCredentials, fields: Mapping[str, str]
) -> ProviderTokens:
    """Exchange an authorization code; raise NotSignedIn if the provider does not accept it."""
    body, headers = {**fields, "grant_type": "authorization_code"}, dict(_HEADERS)
    secret = client.client_secret.reveal()
    if secret and _uses_basic(metadata):
        auth = httpx2.BasicAuth(quote_plus(client.client_id), quote_plus(secret))
        signed = next(auth.auth_flow(httpx2.Request("POST", metadata.token_endpoint)))
        headers["Authorization"] = signed.headers["Authorization"]
    else:
        body["client_id"] = client.client_id
        if secret:
            body["client_secret"] = secret
    request = httpx2.Request("POST", metadata.token_endpoint, data=body, headers=headers)
    return await _ask(request, ProviderTokens, refusals=frozenset({400, 403}))


async def fetch_userinfo(metadata: ProviderMetadata, access_token: str) -> dict[str, Any]:
    """Return the claims that the provider gives for an access token."""
    headers = {**_HEADERS, "Authorization": f"Bearer {access_token}"}
    request = httpx2.Request("GET", metadata.userinfo_endpoint, headers=headers)
    return await _ask(request, dict[str, Any])


def _uses_basic(metadata: ProviderMetadata) -> bool:
    offered = metadata.token_endpoint_auth_methods_supported
    return _BASIC in offered or _POST not in offered


async def _ask(
    request: httpx2.Request, kind: type[Decoded], *, refusals: frozenset[int] = frozenset()
) -> Decoded:
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS), open_http_client() as client:
            body = await _read(await client.send(request, stream=True), refusals)
    except TimeoutError as error:
        raise ProviderUnavailable("the provider did not answer in time") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        why = describe_failure(error)
        raise ProviderUnavailable(f"the provider cannot be reached ({why})") from error
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderUnavailable("the response of the provider cannot be read") from error


async def _read(response: httpx2.Response, refusals: frozenset[int]) -> bytes:
    try:
        if response.status_code in refusals:
            raise NotSignedIn("the provider did not accept this sign-in; start again")
        if response.status_code != HTTPStatus.OK:
            raise ProviderUnavailable(f"the provider answered with status {response.status_code}")
        return await read_body(response, limit=_MAX_RESPONSE_BYTES)
    except BodyTooLarge as error:
        raise ProviderUnavailable("the response of the provider is too large") from error
    finally:
        await response.aclose()
