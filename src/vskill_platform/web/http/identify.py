"""From cookies and headers to the visitor."""

from typing import Any

import msgspec
from litestar.connection import ASGIConnection

from vskill_platform.access.secret_texts import new_secret
from vskill_platform.access.sessions import find_session
from vskill_platform.access.tokens import find_open_token
from vskill_platform.errors import NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.web.http.cookies import SESSION_COOKIE, VISIT_COOKIE, is_secret
from vskill_platform.web.http.requests import is_api
from vskill_platform.web.http.visitor import csrf_token_for

_BEARER = "bearer"


class Identified(msgspec.Struct, frozen=True, kw_only=True):
    visitor: Visitor
    #: What a cookie would have to hold for the visitor's forms to work; empty if it does.
    new_visit: str = ""


async def identify(connection: ASGIConnection[Any, Any, Any, Any]) -> Identified:
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


def address_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return where it came from; the server has looked through the proxies that are trusted."""
    return connection.client.host if connection.client else ""


async def _by_token(authorization: str, address: str) -> Visitor:
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != _BEARER:
        raise NotSignedIn("use a token: Authorization: Bearer vsk_…")
    opened = await find_open_token(text.strip())
    if opened is None:
        raise NotSignedIn("this token is unknown: it was revoked, has expired or is misspelt")
    return Visitor(
        user=opened.user,
        via="token",
        scopes=frozenset(opened.record.scopes),
        address=address,
        credential=opened.record.id,
    )
