"""Protection against cross-site request forgery."""

import hmac
from urllib.parse import urlsplit

from litestar import Request

from vskill_platform.errors import RequestForged
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.api_types import MAX_REASON
from vskill_platform.web.http.requests import SAFE_METHODS, WebConnection, WebRequest, is_api
from vskill_platform.web.http.urls import TYPED_REASON
from vskill_platform.web.http.visitor import visitor_of

CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"
_OWN_SITES = frozenset({"same-origin", "none"})
_MAX_KEPT_FORM = 16 * 1024
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


async def check_csrf(connection: WebConnection) -> None:
    """Refuse unsafe requests that were not sent by a page of this registry.

    Bearer tokens are exempt, because no browser sends one by itself. API requests without
    credentials have no rights to abuse, so they are refused only if a browser says that they come
    from another site.
    """
    visitor = visitor_of(connection)
    if connection.scope.get("method") in SAFE_METHODS or visitor.via == "token":
        return
    _check_site(connection)
    if visitor.via != "session" and is_api(connection):
        return
    given = connection.headers.get(CSRF_HEADER) or await _form_token(connection)
    if not visitor.csrf or not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        await _close_files(connection)
        raise RequestForged("this form has expired, or is not from this registry")


def _check_site(connection: WebConnection) -> None:
    """Refuse requests that the browser says are from another site."""
    site = connection.headers.get("sec-fetch-site")
    origin = connection.headers.get("origin")
    if site is not None:
        is_own = site in _OWN_SITES
    elif origin is not None:
        own = {connection.headers.get("host", ""), urlsplit(get_settings().public_url).netloc}
        is_own = bool(urlsplit(origin).netloc) and urlsplit(origin).netloc in own
    else:
        return  # not a browser, or an old one; the CSRF token decides
    if not is_own:
        raise RequestForged("this request was sent by another site")


async def _form_token(connection: WebConnection) -> str:
    if not isinstance(connection, Request) or not _is_form(connection):
        return ""
    value = (await connection.form()).get(CSRF_FIELD)
    return value if isinstance(value, str) else ""


async def keep_typed_reason(connection: WebConnection) -> None:
    """Keep the reason from a form for the page after sign-in, if the session expired meanwhile."""
    length = connection.headers.get("content-length", "")
    is_small = length.isascii() and length.isdigit() and int(length[:9]) <= _MAX_KEPT_FORM
    is_form = connection.headers.get("content-type", "").lower().startswith(_FORMS[0])
    if isinstance(connection, Request) and is_form and is_small:
        reason = (await connection.form()).get("reason")
        if isinstance(reason, str):
            connection.scope["state"][TYPED_REASON] = reason.strip()[:MAX_REASON]


async def _close_files(connection: WebConnection) -> None:
    """Close the files of a refused form."""
    if isinstance(connection, Request) and _is_form(connection):
        await (await connection.form()).close()


def _is_form(connection: WebRequest) -> bool:
    return connection.headers.get("content-type", "").lower().startswith(_FORMS)
