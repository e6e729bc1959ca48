"""Identify the visitor of a request by cookies, headers or path; session cookies; CSRF tokens."""

import base64
import binascii
import hashlib
import hmac
import re
from datetime import timedelta
from urllib.parse import quote

import msgspec
from litestar.datastructures import Cookie
from litestar.types import Scope

from vskill_platform.access.secret_texts import TOKEN_PREFIX, new_secret
from vskill_platform.access.sessions import OpenSession, find_session
from vskill_platform.access.tokens import find_open_token
from vskill_platform.errors import NotFound, NotSignedIn
from vskill_platform.model.rights import STAFF, Role, Visitor
from vskill_platform.model.rights import Scope as TokenScope
from vskill_platform.settings import Settings
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.requests import WebConnection, is_api, is_git, is_read

#: Keys in the request state.
VISITOR = "vskill_visitor"
#: Set when a page has a form: only then does a visitor without a session need a cookie.
SHOWS_FORM = "vskill_shows_form"

_NOBODY = Visitor()
SESSION_COOKIE = "vskill_session"
#: A random value that ties a form to the browser in which it was shown.
VISIT_COOKIE = "vskill_visit"
_VISIT_LIFETIME = timedelta(days=1)
#: Ties a sign-in at the provider to the browser that began it.
OIDC_COOKIE = "vskill_oidc"
_OIDC_LIFETIME = timedelta(minutes=10)
#: A sign-in that waits for its second factor.
STEP_COOKIE = "vskill_step"
_STEP_LIFETIME = timedelta(minutes=5)
#: The format of our secrets; other cookie values are ignored.
_SECRET = re.compile(r"[\w-]{43}", re.ASCII)
_BEARER, _BASIC = "bearer", "basic"
#: Starts the path of a client that cannot send headers: `/t/vsk_…/s/@acme/demo`.
_TOKEN_PATH = "/t/"  # noqa: S105 - not a token
#: The token in such a path, even with duplicate slashes; and the signature of a repository, see
#: `web/protocols/git/http.py`.
_SECRET_IN_PATH = re.compile(r"(^/+t/+|/git/+signed/+)[^/]+", re.IGNORECASE)
#: A token anywhere else, for example pasted by a user. Names of skills are shorter.
_TOKEN_IN_PATH = re.compile(rf"{TOKEN_PREFIX}\w{{20,}}", re.IGNORECASE)
#: The paths that such a client may read: the protocols in docs/clients.md.
_READ_BY_PATH = (
    "/.claude-plugin/",
    "/.well-known/",
    "/api/search",
    "/artifacts/",
    "/git/",
    "/n/",
    "/s/",
)


def visitor_of(connection: WebConnection) -> Visitor:
    """Return the visitor of a request; an anonymous one if it was not identified."""
    return visitor_in(connection.scope)


def visitor_in(scope: Scope) -> Visitor:
    visitor: Visitor = scope["state"].get(VISITOR, _NOBODY)
    return visitor


def csrf_token_of(connection: WebConnection) -> str:
    """Return the CSRF token for a form, and ensure that the cookie it needs is set."""
    connection.scope["state"][SHOWS_FORM] = True
    return visitor_of(connection).csrf


def csrf_token_for(secret: str) -> str:
    """Derive the CSRF token from the secret of a cookie, which other sites cannot read."""
    return hmac.new(secret.encode(), b"vskill csrf", hashlib.sha256).hexdigest()


def session_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, secret, settings.session_lifetime, settings)


def ended_session_cookie(settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, "", timedelta(0), settings)


def visit_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(VISIT_COOKIE, secret, _VISIT_LIFETIME, settings)


def oidc_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(OIDC_COOKIE, secret, _OIDC_LIFETIME, settings)


def ended_oidc_cookie(settings: Settings) -> Cookie:
    return _cookie(OIDC_COOKIE, "", timedelta(0), settings)


def oidc_secret_of(connection: WebConnection) -> str:
    secret = connection.cookies.get(OIDC_COOKIE, "")
    return secret if is_secret(secret) else ""


def step_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(STEP_COOKIE, secret, _STEP_LIFETIME, settings)


def ended_step_cookie(settings: Settings) -> Cookie:
    return _cookie(STEP_COOKIE, "", timedelta(0), settings)


def step_secret_of(connection: WebConnection) -> str:
    secret = connection.cookies.get(STEP_COOKIE, "")
    return secret if is_secret(secret) else ""


def is_secret(text: str) -> bool:
    return _SECRET.fullmatch(text) is not None


def _cookie(name: str, value: str, lifetime: timedelta, settings: Settings) -> Cookie:
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=int(lifetime.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=settings.public_url.startswith("https://"),
    )


class Identified(msgspec.Struct, frozen=True, kw_only=True):
    visitor: Visitor
    #: The secret for a new cookie; empty if the visitor has one.
    new_visit: str = ""


async def identify(connection: WebConnection) -> Identified:
    """Identify the visitor by token, otherwise by session, otherwise as anonymous.

    An invalid token is an error, because a program would not notice that it is ignored. With an
    expired session the visitor is anonymous, because the user can sign in again.
    """
    address = address_of(connection)
    if authorization := connection.headers.get("authorization"):
        text = _token_in(authorization, connection)
        return Identified(visitor=await _by_token(text, address))
    secret = connection.cookies.get(SESSION_COOKIE, "")
    opened = await find_session(secret) if is_secret(secret) else None
    if opened:
        return Identified(visitor=_by_session(opened, address))
    if is_api(connection):  # the API has no forms, so no CSRF token is needed
        return Identified(visitor=Visitor(address=address))
    visit = connection.cookies.get(VISIT_COOKIE, "")
    new_visit = "" if is_secret(visit) else new_secret()
    visitor = Visitor(address=address, csrf=csrf_token_for(new_visit or visit))
    return Identified(visitor=visitor, new_visit=new_visit)


def _by_session(opened: OpenSession, address: str) -> Visitor:
    user, session = opened.user, opened.session
    is_required = get_settings().second_factor == "staff" and user.role in STAFF
    is_missing = is_required and not session.has_second_factor
    return Visitor(
        # Staff without a required second factor have the rights of publishers until they set one
        # up.
        user=msgspec.structs.replace(user, role=Role.PUBLISHER) if is_missing else user,
        via="session",
        address=address,
        csrf=csrf_token_for(opened.secret),
        credential=session.id,
        has_second_factor=session.has_second_factor,
        needs_second_factor=is_missing,
    )


def address_of(connection: WebConnection) -> str:
    """Return the client address; the server has already resolved trusted proxies."""
    return connection.client.host if connection.client else ""


def take_path_token(scope: Scope) -> str:
    """Remove a token from the path and return it; an empty string if there is none."""
    path = scope["path"]
    if not path.startswith(_TOKEN_PATH):
        return ""
    token, slash, rest = path.removeprefix(_TOKEN_PATH).partition("/")
    scope["path"] = slash + rest
    scope["raw_path"] = quote(slash + rest).encode()
    return token or "-"


def hide_path_token(path: str) -> str:
    """Return a path for logs without any token, even one in the wrong place."""
    return _TOKEN_IN_PATH.sub("(hidden)", _SECRET_IN_PATH.sub(r"\1(hidden)", path))


async def identify_by_path(connection: WebConnection, token: str) -> Identified:
    """Identify the visitor by a token in the path, which clients write to lock files and logs.

    So the token must be one that can only read, and it is accepted only where clients cannot send
    headers.
    """
    if not is_read(connection.scope) or not connection.scope["path"].startswith(_READ_BY_PATH):
        raise NotFound("there is no page at this address")
    visitor = await _by_token(token, address_of(connection))
    if visitor.scopes != {TokenScope.READ}:
        raise NotSignedIn("a token in a URL must have the scope read and no other")
    return Identified(visitor=visitor)


def _token_in(authorization: str, connection: WebConnection) -> str:
    """Return the token from a header; git sends it as a password, with any user name."""
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() == _BEARER:
        return text.strip()
    if scheme.lower() == _BASIC and is_git(connection.scope):
        try:
            decoded = base64.b64decode(text.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            decoded = ""
        user, _, password = decoded.partition(":")
        return password or user
    raise NotSignedIn("use a bearer token: Authorization: Bearer vsk_…")


async def _by_token(text: str, address: str) -> Visitor:
    opened = await find_open_token(text)
    if opened is None:
        raise NotSignedIn("invalid token: it was revoked, has expired or is misspelled")
    return Visitor(
        user=opened.user,
        via="token",
        scopes=frozenset(opened.record.scopes),
        address=address,
        credential=opened.record.id,
        only_in=opened.record.namespace,
    )
