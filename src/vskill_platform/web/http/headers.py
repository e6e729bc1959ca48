"""Headers of every response, errors included: request id, security policy, caching."""

from litestar.datastructures import CacheControlHeader, MutableScopeHeaders
from litestar.types import Message, Scope

from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.requests import REQUEST_ID_HEADER, request_id_of
from vskill_platform.web.http.visitor import SHOWS_FORM, VISITOR, visit_cookie

#: Key in the request state of the secret for a new visitor's cookie.
NEW_VISIT = "vskill_new_visit"
#: Nothing inline, nothing from other hosts, no framing.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
#: Pages that show secrets must not be cached, not even by the browser.
NO_STORE_HEADER = {"Cache-Control": "no-store"}
#: For responses that contain the current time, because their ETag would never match.
NO_STORE = CacheControlHeader(no_store=True)
#: Defaults; a handler can set its own.
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Shared caches do not keep a response with one of these.
_NOT_SHARED = frozenset({"private", "no-store"})


async def add_headers(message: Message, scope: Scope) -> None:
    """Add the headers before a response is sent."""
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
        # Shared caches must not keep a visitor's response, even if the handler does not say so.
        wanted = headers.get("Cache-Control", "no-cache")
        is_kept_back = _NOT_SHARED.intersection(part.strip() for part in wanted.split(","))
        headers["Cache-Control"] = wanted if is_kept_back else _as_private(wanted)
        headers.add("Vary", "Cookie, Authorization")
    if state.get(SHOWS_FORM) and state.get(NEW_VISIT):
        cookie = visit_cookie(state[NEW_VISIT], get_settings())
        headers.add("Set-Cookie", cookie.to_header(header=""))


def _as_private(wanted: str) -> str:
    parts = [part.strip() for part in wanted.split(",")]
    return ", ".join(["private", *(part for part in parts if part != "public")])
