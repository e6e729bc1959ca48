"""The metadata of an OpenID Connect provider, and the identity of a user who signed in there."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

#: The longest subject that the standard allows.
MAX_SUBJECT = 255
#: A sign-in with more groups than this is refused.
MAX_GROUPS = 2_000


class ProviderMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of OpenID Connect Discovery that are used."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    #: Whether each redirect from it contains its issuer (RFC 9207).
    authorization_response_iss_parameter_supported: bool = False


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    metadata: ProviderMetadata
    #: Its public keys, as it publishes them.
    keys: tuple[dict[str, Any], ...]
    fetched_at: datetime


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Someone who has signed in at the provider."""

    issuer: str
    #: Identifies them at this provider; names and addresses can change.
    subject: str
    #: The claims from which a name is made, the preferred one first.
    names: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    #: The session at the provider; empty if the provider does not name it.
    session: str = ""
    #: The signed token, for signing out at the provider.
    id_token: str = ""


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name or, with dots, by its path; None if it is missing."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
