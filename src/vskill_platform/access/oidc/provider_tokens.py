"""Check the signed tokens of the provider: ID tokens and logout tokens.

Only signatures with a public key are accepted. Otherwise `none` would need no key at all, and HS256
could be signed with the public key, which everyone knows.
"""

import base64
import hmac
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import extract_compact

from vskill_platform.access.oidc.provider import find_provider, refetch_keys
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.oidc import MAX_SUBJECT, Provider
from vskill_platform.stores.db import get_now, get_settings

#: How far the clocks of the provider and of this machine may differ.
LEEWAY = timedelta(minutes=1)
#: The maximum age of a token, which must be made for this sign-in.
_MAX_AGE = timedelta(minutes=10)
_MAX_TOKEN_LENGTH = 64 * 1024
#: In seconds; larger numbers are not times.
_LATEST = 2**53
#: Shorter RSA keys can be broken.
_MIN_RSA_BITS = 2048
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
#: The kind of key that each algorithm needs.
_KEY_OF = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519"), "OKP"),
}
_CLASSES: dict[str, type[ECKey | OKPKey | RSAKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
_Key = ECKey | OKPKey | RSAKey


class LogoutToken(msgspec.Struct, frozen=True, kw_only=True):
    #: Identifies the token, so that it is used once.
    id: str
    subject: str
    session: str


async def check_id_token(text: str, *, nonce: str) -> dict[str, Any]:
    """Return the claims of an ID token that was made for this sign-in."""
    claims = await _verify(text, is_untrusted=False)
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise NotSignedIn("the provider's token was made for another sign-in; start again")
    if not _is_text(claims.get("sub"), MAX_SUBJECT):
        raise _refused("names no user")
    return claims


async def check_logout_token(text: str) -> LogoutToken:
    """Return the session and user to sign out (OpenID Connect Back-Channel Logout 1.0)."""
    claims = await _verify(text, is_untrusted=True)
    events = claims.get("events")
    if not isinstance(events, Mapping) or not isinstance(events.get(_LOGOUT_EVENT), Mapping):
        raise _refused("is not a logout token")
    if "nonce" in claims:  # an ID token is not a logout token
        raise _refused("is an ID token, not a logout token")
    if not _is_text(claims.get("jti"), MAX_SUBJECT):
        raise _refused("has no id")
    subject, session = claims.get("sub", ""), claims.get("sid", "")
    if not all(text == "" or _is_text(text, MAX_SUBJECT) for text in (subject, session)):
        raise _refused("names no user")
    if not subject and not session:
        raise _refused("names neither a user nor a session")
    return LogoutToken(id=claims["jti"], subject=subject, session=session)


async def _verify(text: str, *, is_untrusted: bool) -> dict[str, Any]:
    settings = get_settings()
    claims = await verify_signed(
        text,
        issuer=settings.oidc_issuer,
        audience=settings.oidc_client_id,
        is_untrusted=is_untrusted,
    )
    if _time(claims, "iat") < (get_now() - _MAX_AGE - LEEWAY).timestamp():
        raise _refused("is too old")
    return claims


async def verify_signed(
    text: str, *, issuer: str, audience: str, is_untrusted: bool = True
) -> dict[str, Any]:
    """Check the signature, the issuer, the audience and the times of a token."""
    header = _read_header(text)
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in _KEY_OF:
        raise _refused("uses a signature algorithm that is not allowed")
    provider = await find_provider(issuer)
    keys = _usable_keys(provider, algorithm, key_id)
    if not keys:
        provider = await refetch_keys(provider, is_untrusted=is_untrusted)
        keys = _usable_keys(provider, algorithm, key_id)
    if len(keys) != 1:
        raise _refused("is signed with an unknown key")
    try:
        token = jwt.decode(text, keys[0], algorithms=[algorithm])
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise _refused("has an invalid signature") from error
    _check_claims(token.claims, issuer, audience)
    return token.claims


def _read_header(text: str) -> Mapping[str, Any]:
    if not text or len(text) > _MAX_TOKEN_LENGTH or not text.isascii():
        raise _refused("cannot be read")
    try:
        header = extract_compact(text.encode()).headers()
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise _refused("cannot be read") from error
    if "crit" in header:
        raise _refused("requires an unknown extension")
    return header


def _usable_keys(provider: Provider, algorithm: str, key_id: object) -> list[_Key]:
    """Return the provider's keys for signatures of this kind, with this id if one is given."""
    kind = _KEY_OF[algorithm]
    found = [
        key
        for key in provider.keys
        if key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (key_id is None or key.get("kid") == key_id)
        and (kind != "RSA" or _rsa_bits(key) >= _MIN_RSA_BITS)
    ]
    try:
        return [_CLASSES[kind].import_key(key) for key in found]
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _refused("is signed with a key that cannot be read") from error


def _rsa_bits(key: Mapping[str, Any]) -> int:
    """Return the length of a public RSA key; 0 if it cannot be read."""
    try:
        modulus = base64.urlsafe_b64decode(f"{key.get('n')}==")
    except ValueError:
        return 0
    return int.from_bytes(modulus).bit_length()


def read_unverified(text: str) -> Mapping[str, Any]:
    """Return the unverified claims of a token, to find out who should have signed it."""
    _read_header(text)
    try:
        claims = msgspec.json.decode(extract_compact(text.encode()).payload)
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise _refused("cannot be read") from error
    if not isinstance(claims, dict):
        raise _refused("cannot be read")
    return claims


def _check_claims(claims: Mapping[str, Any], issuer: str, client_id: str) -> None:
    now, leeway = get_now().timestamp(), LEEWAY.total_seconds()
    if claims.get("iss") != issuer:
        raise _refused("was issued by another provider")
    audience = claims.get("aud")
    names = [audience] if isinstance(audience, str) else audience
    if not isinstance(names, list) or client_id not in names:
        raise _refused("was issued for another application")
    if claims.get("azp", client_id) != client_id or (len(names) > 1 and "azp" not in claims):
        raise _refused("was issued for another application")
    expires, issued = _time(claims, "exp"), _time(claims, "iat")
    if expires <= now - leeway:
        raise _refused("has expired")
    if max(issued, _time(claims, "nbf", missing=now)) > now + leeway:
        raise _refused("was issued in the future: compare the clocks of both machines")


def _time(claims: Mapping[str, Any], name: str, *, missing: float = float("-inf")) -> float:
    """Return a time in seconds; a missing required time counts as long past."""
    if name not in claims:
        return missing
    time = claims[name]
    is_number = isinstance(time, int | float) and not isinstance(time, bool)
    if not is_number or not -_LATEST <= time <= _LATEST:  # also if it is NaN
        raise _refused("has a time that cannot be read")
    return float(time)


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def _refused(why: str) -> NotSignedIn:
    return NotSignedIn(f"the provider's token {why}; nobody was signed in")
