"""Who sent the request that is being answered, and what their forms must bring along."""

import hashlib
import hmac
from typing import Any

from litestar.connection import ASGIConnection
from litestar.types import Scope

from vskill_platform.model.rights import Visitor

#: Where in the state of a connection these are kept.
VISITOR = "vskill_visitor"
#: Set once a page holds a form: only then a visitor who has not signed in needs a cookie.
SHOWS_FORM = "vskill_shows_form"

_NOBODY = Visitor()


def visitor_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Visitor:
    """Return who sent the request; nobody in particular if it was not looked at."""
    return visitor_in(connection.scope)


def visitor_in(scope: Scope) -> Visitor:
    visitor: Visitor = scope["state"].get(VISITOR, _NOBODY)
    return visitor


def csrf_token_of(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return what a form of this visitor must bring along, and see to it that it can."""
    connection.scope["state"][SHOWS_FORM] = True
    return visitor_of(connection).csrf


def csrf_token_for(secret: str) -> str:
    """Make the token from the secret of a cookie: who cannot read that one cannot make it."""
    return hmac.new(secret.encode(), b"vskill csrf", hashlib.sha256).hexdigest()
