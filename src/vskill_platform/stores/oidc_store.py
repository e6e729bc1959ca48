"""Sign-ins with OpenID Connect: pending ones, linked accounts, sessions, sign-outs."""

import hashlib
from datetime import datetime

from vskill_platform.engines.operations import (
    ABSENT,
    NEVER,
    Delete,
    Expect,
    Operation,
    Put,
)
from vskill_platform.model.record import Record
from vskill_platform.stores.records import Stored, decode, encode, get_record, list_all_keys
from vskill_platform.stores.records import read_each as read_records

_LOGIN = "oidc-login:"
_LINK = "oidc-link:"
#: From a user to the key of the link.
_LINK_OF = "oidc-link-of:"
#: From a user and the id of a session to the provider's data about it.
_SESSION = "oidc-session:"
#: From a session at the provider to sessions here.
_SID = "oidc-sid:"
#: Logout tokens that were used.
_LOGOUT = "oidc-logout:"


class OidcLogin(Record, frozen=True, kw_only=True):
    """A pending sign-in: the browser has not returned from the provider yet."""

    #: The digest of the cookie that ties it to its browser.
    browser_digest: str
    nonce: str
    #: The secret of PKCE.
    code_verifier: str
    #: The page to return to.
    next: str
    expires_at: datetime
    #: The user who wants to link an account; empty to sign in.
    link_to: str = ""


class OidcLink(Record, frozen=True, kw_only=True):
    """The account at the provider that belongs to a user."""

    issuer: str
    subject: str
    user: str
    #: The name at the provider when it was linked; only issuer and subject identify the account.
    shown_as: str
    at: datetime
    #: Namespaces in which the user has rights from groups of the provider.
    namespaces: tuple[str, ...] = ()


class OidcSession(Record, frozen=True, kw_only=True):
    """A session here that began at the provider."""

    issuer: str
    subject: str
    user: str
    session_id: str
    #: The session at the provider; empty if unknown.
    provider_session: str
    id_token: str
    expires_at: datetime


async def get_oidc_login(state_digest: str) -> Stored[OidcLogin] | None:
    return await get_record(_LOGIN + state_digest, OidcLogin)


def write_oidc_login(state_digest: str, login: OidcLogin) -> Operation:
    return Put(
        _LOGIN + state_digest, encode(login), expected=ABSENT, due=NEVER,
        expires_at=login.expires_at,
    )  # fmt: skip


def delete_oidc_login(state_digest: str, stored: Stored[OidcLogin]) -> Operation:
    """Mark a sign-in as used by deleting it; the commit fails if it was already used."""
    return Delete(_LOGIN + state_digest, expected=stored.revision)


async def get_oidc_link(issuer: str, subject: str) -> Stored[OidcLink] | None:
    return await get_record(_LINK + _digest(issuer, subject), OidcLink)


async def get_oidc_link_of(user_name: str) -> Stored[OidcLink] | None:
    found = await get_record(_LINK_OF + user_name, str)
    return await get_record(_LINK + found.record, OidcLink) if found else None


def write_new_oidc_link(link: OidcLink) -> list[Operation]:
    """Return the operations that link both; they fail if either is linked meanwhile."""
    digest = _digest(link.issuer, link.subject)
    return [
        Put(_LINK + digest, encode(link), expected=ABSENT, due=NEVER),
        Put(_LINK_OF + link.user, encode(digest), expected=ABSENT, due=NEVER),
    ]


def expect_no_oidc_link(user_name: str) -> Operation:
    """Make a commit fail if an account of a provider was linked to this user."""
    return Expect(_LINK_OF + user_name, ABSENT)


def change_oidc_link(before: Stored[OidcLink], after: OidcLink) -> Operation:
    digest = _digest(after.issuer, after.subject)
    return Put(_LINK + digest, encode(after), expected=before.revision, due=NEVER)


def delete_oidc_link(stored: Stored[OidcLink]) -> list[Operation]:
    link = stored.record
    return [
        Delete(_LINK + _digest(link.issuer, link.subject), expected=stored.revision),
        Delete(_LINK_OF + link.user),
    ]


async def get_oidc_session(user_name: str, session_id: str) -> OidcSession | None:
    found = await get_record(f"{_SESSION}{user_name}:{session_id}", OidcSession)
    return found.record if found else None


async def list_oidc_sessions(user_name: str) -> list[OidcSession]:
    """Return the sessions of a user that began at a provider; some may have ended."""
    keys = await list_all_keys(f"{_SESSION}{user_name}:")
    return await read_records(keys, lambda key, value: decode(key, value, OidcSession))


async def list_sessions_at_provider(issuer: str, provider_session: str) -> list[OidcSession]:
    """Return the sessions here that began in one session at the provider."""
    keys = await list_all_keys(f"{_SID}{_digest(issuer, provider_session)}:")
    return await read_records(keys, lambda key, value: decode(key, value, OidcSession))


def write_oidc_session(session: OidcSession) -> list[Operation]:
    keys = _session_keys(session)
    return [Put(key, encode(session), due=NEVER, expires_at=session.expires_at) for key in keys]


def delete_oidc_session(session: OidcSession) -> list[Operation]:
    return [Delete(key) for key in _session_keys(session)]


def write_used_logout(issuer: str, token_id: str, *, expires_at: datetime) -> Operation:
    """Record a logout token; the commit fails if it was used before."""
    key = _LOGOUT + _digest(issuer, token_id)
    return Put(key, b"", expected=ABSENT, due=NEVER, expires_at=expires_at)


def _session_keys(session: OidcSession) -> list[str]:
    keys = [f"{_SESSION}{session.user}:{session.session_id}"]
    if session.provider_session:
        digest = _digest(session.issuer, session.provider_session)
        keys.append(f"{_SID}{digest}:{session.session_id}")
    return keys


def _digest(*parts: str) -> str:
    """Return a key for text from the provider, which may have any length and characters."""
    lengths = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(lengths.encode()).hexdigest()
