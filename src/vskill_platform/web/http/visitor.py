"""Who sent the request: read from cookies and headers, and the CSRF token of their forms."""

import hashlib
import hmac
import re
from datetime import timedelta

import msgspec
from litestar.datastructures import Cookie
from litestar.types import Scope

from vskill_platform.access.secret_texts import new_secret
from vskill_platform.access.sessions import find_session
from vskill_platform.access.tokens import find_open_token
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.settings import Settings
from vskill_platform.web.http.requests import Connection, is_api

#: Where in the state of a connection these are kept.
VISITOR = "vskill_visitor"
#: Set once a page holds a form: only then a visitor who has not signed in needs a cookie.
SHOWS_FORM = "vskill_shows_form"

_NOBODY = Visitor()
SESSION_COOKIE = "vskill_session"
#: Holds nothing but chance: a form that comes back with it was shown to the same browser.
VISIT_COOKIE = "vskill_visit"
_VISIT_LIFETIME = timedelta(days=1)
#: What our secrets look like; anything else in a cookie is nobody's.
_SECRET = re.compile(r"[\w-]{43}", re.ASCII)
_BEARER = "bearer"


def visitor_of(connection: Connection) -> Visitor:
    """Return who sent the request; nobody in particular if it was not looked at."""
    return visitor_in(connection.scope)


def visitor_in(scope: Scope) -> Visitor:
    visitor: Visitor = scope["state"].get(VISITOR, _NOBODY)
    return visitor


def csrf_token_of(connection: Connection) -> str:
    """Return what a form of this visitor must bring along, and see to it that it can."""
    connection.scope["state"][SHOWS_FORM] = True
    return visitor_of(connection).csrf


def csrf_token_for(secret: str) -> str:
    """Make the token from the secret of a cookie: who cannot read that one cannot make it."""
    return hmac.new(secret.encode(), b"vskill csrf", hashlib.sha256).hexdigest()


def session_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, secret, settings.session_lifetime, settings)


def ended_session_cookie(settings: Settings) -> Cookie:
    return _cookie(SESSION_COOKIE, "", timedelta(0), settings)


def visit_cookie(secret: str, settings: Settings) -> Cookie:
    return _cookie(VISIT_COOKIE, secret, _VISIT_LIFETIME, settings)


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
    #: What a cookie would have to hold for the visitor's forms to work; empty if it does.
    new_visit: str = ""


async def identify(connection: Connection) -> Identified:
    """Find out who it is: a token speaks before a session, and a session before nobody.

    A token that is not good is an error, since a program would go on without knowing; a session
    that is not good any more is nobody, since a person can sign in again.
    """
    address = address_of(connection)
    if authorization := connection.headers.get("authorization"):
        return Identified(visitor=await _by_token(authorization, address))
    secret = connection.cookies.get(SESSION_COOKIE, "")
    opened = await find_session(secret) if is_secret(secret) else None
    if opened:
        visitor = Visitor(
            user=opened.user,
            via="session",
            address=address,
            csrf=csrf_token_for(secret),
            credential=opened.session.id,
        )
        return Identified(visitor=visitor)
    if is_api(connection):  # no form is shown there, so there is nothing to make a token for
        return Identified(visitor=Visitor(address=address))
    visit = connection.cookies.get(VISIT_COOKIE, "")
    new_visit = "" if is_secret(visit) else new_secret()
    visitor = Visitor(address=address, csrf=csrf_token_for(new_visit or visit))
    return Identified(visitor=visitor, new_visit=new_visit)


def address_of(connection: Connection) -> str:
    """Return where it came from; the server has looked through the proxies that are trusted."""
    return connection.client.host if connection.client else ""


async def _by_token(authorization: str, address: str) -> Visitor:
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != _BEARER:
        raise NotSignedIn("use a bearer token: Authorization: Bearer vsk_…")
    opened = await find_open_token(text.strip())
    if opened is None:
        raise NotSignedIn("invalid token: it was revoked, has expired or is misspelled")
    return Visitor(
        user=opened.user,
        via="token",
        scopes=frozenset(opened.record.scopes),
        address=address,
        credential=opened.record.id,
    )
