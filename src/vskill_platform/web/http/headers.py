"""What every answer carries, also one of the framework: its id, and what a browser may do."""

from litestar.datastructures import CacheControlHeader, MutableScopeHeaders
from litestar.types import Message, Scope

from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.requests import REQUEST_ID_HEADER, request_id_of
from vskill_platform.web.http.visitor import SHOWS_FORM, VISITOR, visit_cookie

#: Where the secret is kept that a new visitor's cookie would hold.
NEW_VISIT = "vskill_new_visit"
#: Nothing inline, nothing from other hosts, never inside of somebody else's page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
#: Pages with secrets in them are not kept, not even by the browser.
NOT_KEPT = {"Cache-Control": "no-store"}
#: For handlers whose answer names the moment it was made: a tag could never match.
NEVER_THE_SAME = CacheControlHeader(no_store=True)
#: A handler that sets one of these itself keeps its own.
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def add_headers(message: Message, scope: Scope) -> None:
    """Complete the head of an answer before it is sent."""
    if message["type"] != "http.response.start":
        return
    headers = MutableScopeHeaders.from_message(message)
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    headers[REQUEST_ID_HEADER] = request_id_of(scope)
    state = scope["state"]
    visitor = state.get(VISITOR)
    is_personal = state.get(SHOWS_FORM) or (visitor is not None and visitor.user is not None)
    if is_personal:
        # What one visitor gets must not lie in a store between them and the next one.
        headers.setdefault("Cache-Control", "private, no-cache")
        headers.add("Vary", "Cookie, Authorization")
    if state.get(SHOWS_FORM) and state.get(NEW_VISIT):
        cookie = visit_cookie(state[NEW_VISIT], get_settings())
        headers.add("Set-Cookie", cookie.to_header(header=""))
