"""Sign in at the provider: authorization code, PKCE, state and nonce.

The state is a secret that works once, and only in the browser that began the sign-in: a cookie ties
them together. Otherwise an attacker could sign a victim in to the attacker's account (login CSRF).
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from vskill_platform.access.oidc.accounts import find_account, link_account
from vskill_platform.access.oidc.provider import (
    check_oidc_sign_in,
    client_credentials,
    find_provider,
)
from vskill_platform.access.oidc.provider_tokens import check_id_token
from vskill_platform.access.secret_texts import digest_of, new_secret
from vskill_platform.access.sessions import OpenSession, begin_session
from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import NotAllowed, NotSignedIn, ProviderUnavailable
from vskill_platform.fetch.oidc_http import ProviderTokens, fetch_userinfo, redeem_code
from vskill_platform.model.oidc import MAX_GROUPS, Identity, Provider, find_claim
from vskill_platform.model.registry_url import base_url
from vskill_platform.model.user import Session, User
from vskill_platform.stores.db import commit, get_now, get_settings
from vskill_platform.stores.oidc_store import (
    OidcLogin,
    OidcSession,
    delete_oidc_login,
    get_oidc_login,
    write_oidc_login,
    write_oidc_session,
)

log = get_logger(__name__)

CALLBACK = "/sign-in/oidc/callback"
#: How long a user may take at the provider.
LOGIN_LIFETIME = timedelta(minutes=10)
_MAX_ID_TOKEN = 8 * 1024
_MAX_PARAMETER = 8 * 1024
_OVER = "This sign-in was already used or took more than 10 minutes. Start again."


class ProviderRedirect(msgspec.Struct, frozen=True, kw_only=True):
    #: The URL at the provider.
    url: str
    #: The value of the cookie that ties the sign-in to its browser.
    browser_secret: str


class SignInResult(msgspec.Struct, frozen=True, kw_only=True):
    #: The page to return to.
    next: str
    #: None if an account was linked and no session began.
    opened: OpenSession | None


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """The browser that returned from the provider."""

    #: The secret in its cookie.
    secret: str
    #: The user who is signed in there, if any.
    user: User | None = None
    address: str = ""
    name: str = ""


async def begin_oidc_login(back: str, *, link_to: str = "") -> ProviderRedirect:
    """Return where to send a browser; with *link_to*, to link an account to this user."""
    provider, settings = await find_provider(), get_settings()
    state, nonce, verifier, secret = (new_secret() for _ in range(4))
    login = OidcLogin(
        browser_digest=digest_of(secret),
        nonce=nonce,
        code_verifier=verifier,
        next=back,
        expires_at=get_now() + LOGIN_LIFETIME,
        link_to=link_to,
    )
    await commit([write_oidc_login(digest_of(state), login)])
    query = {
        "response_type": "code",
        "client_id": settings.oidc_client_id,
        "redirect_uri": base_url(settings) + CALLBACK,
        "scope": " ".join(settings.oidc_scopes.split()),
        "state": state,
        "nonce": nonce,
        "code_challenge": _challenge(verifier),
        "code_challenge_method": "S256",
    }
    endpoint = provider.metadata.authorization_endpoint
    if not endpoint:
        raise ProviderUnavailable("the provider names no page to sign in; check the issuer")
    mark = "&" if "?" in endpoint else "?"
    return ProviderRedirect(url=f"{endpoint}{mark}{urlencode(query)}", browser_secret=secret)


async def finish_oidc_login(query: Mapping[str, str], client: Browser) -> SignInResult:
    """Check the provider's response, and start a session or link an account."""
    check_oidc_sign_in()
    login = await _use_login(query, client)
    provider = await find_provider()
    _check_answer(query, provider)
    tokens = await redeem_code(
        provider.metadata,
        client_credentials(),
        {
            "code": query["code"],
            "redirect_uri": base_url(get_settings()) + CALLBACK,
            "code_verifier": login.code_verifier,
        },
    )
    identity = await _identify(provider, tokens, login.nonce)
    if login.link_to:
        if client.user is None or client.user.name != login.link_to:
            raise NotSignedIn("sign in as the user whose account you want to link, and try again")
        await link_account(client.user, identity)
        return SignInResult(next=login.next, opened=None)
    user = await find_account(identity)
    opened = await begin_session(
        user,
        address=client.address,
        browser=client.name,
        has_second_factor=True,  # the provider decides about second factors
        also=lambda session: _remember(session, identity),
    )
    log.info("signed in", name=user.name, address=client.address, via="oidc")
    return SignInResult(next=login.next, opened=opened)


async def _use_login(query: Mapping[str, str], client: Browser) -> OidcLogin:
    """Return the sign-in that began in this browser; it cannot be used again."""
    digest = digest_of(query.get("state", "")[:_MAX_PARAMETER])
    stored = await get_oidc_login(digest)
    if stored is None or not client.secret:
        raise NotSignedIn(_OVER)
    if not hmac.compare_digest(stored.record.browser_digest, digest_of(client.secret)):
        log.warning("sign-in refused: it began in another browser", address=client.address)
        raise NotSignedIn("This sign-in began in another browser. Start again.")
    if await commit([delete_oidc_login(digest, stored)]) is None:
        raise NotSignedIn(_OVER)
    return stored.record


def _check_answer(query: Mapping[str, str], provider: Provider) -> None:
    """Refuse a response from another provider (RFC 9207), an error, and a missing code."""
    metadata = provider.metadata
    is_named = "iss" in query or metadata.authorization_response_iss_parameter_supported
    if is_named and query.get("iss") != metadata.issuer:
        raise NotSignedIn("the response came from another provider; nobody was signed in")
    if error := query.get("error"):
        if error == "access_denied":
            raise NotSignedIn("You cancelled the sign-in, or your provider did not allow it.")
        log.warning("sign-in refused by the provider", error=error[:100])
        raise NotSignedIn("The provider refused the sign-in. Ask an admin of this registry.")
    if not 0 < len(query.get("code", "")) <= _MAX_PARAMETER:
        raise NotSignedIn("the provider sent no code; nobody was signed in")


async def _identify(provider: Provider, tokens: ProviderTokens, nonce: str) -> Identity:
    """Return the identity from the ID token, and from userinfo if groups are missing."""
    settings = get_settings()
    claims = await check_id_token(tokens.id_token, nonce=nonce)
    missing = [
        name
        for name in (settings.oidc_groups_claim, settings.oidc_name_claim)
        if find_claim(claims, name) is None
    ]
    if missing and provider.metadata.userinfo_endpoint and tokens.access_token:
        more = await fetch_userinfo(provider.metadata, tokens.access_token)
        if more.get("sub") != claims["sub"]:
            raise NotSignedIn("the provider gave claims of another user; nobody was signed in")
        claims = {**more, **claims}
    names = (settings.oidc_name_claim, "preferred_username", "email", "nickname")
    found = [find_claim(claims, name) for name in names]
    session = claims.get("sid")
    return Identity(
        issuer=provider.metadata.issuer,
        subject=claims["sub"],
        names=tuple(name for name in found if isinstance(name, str) and name),
        groups=_read_groups(claims, settings.oidc_groups_claim),
        session=session if isinstance(session, str) and len(session) <= _MAX_PARAMETER else "",
        id_token=tokens.id_token if len(tokens.id_token) <= _MAX_ID_TOKEN else "",
    )


def _read_groups(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the groups; refuse an unreadable list, so that no one loses rights by mistake."""
    found = find_claim(claims, name)
    elsewhere = claims.get("_claim_names")
    if found is None and isinstance(elsewhere, Mapping) and name in elsewhere:
        raise NotAllowed(
            "The provider did not list your groups, because you have too many. Ask an admin to "
            "limit the groups in its tokens to those that this registry needs."
        )
    groups = [found] if isinstance(found, str) else (found or [])
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise ProviderUnavailable("the provider's list of groups cannot be read")
    if len(groups) > MAX_GROUPS:
        raise NotAllowed(f"the provider lists more than {MAX_GROUPS:,} groups of yours")
    return frozenset(groups)


def _remember(session: Session, identity: Identity) -> list[Operation]:
    return write_oidc_session(
        OidcSession(
            issuer=identity.issuer,
            subject=identity.subject,
            user=session.user,
            session_id=session.id,
            provider_session=identity.session,
            id_token=identity.id_token,
            expires_at=session.expires_at,
        )
    )


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
