"""The one place that lets requests through: every handler names the right that it needs."""

from litestar import Litestar
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.routes import HTTPRoute

from vskill_platform.errors import ConfigError, NotSignedIn, RightMissing
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.csrf import check_csrf
from vskill_platform.web.http.requests import Connection
from vskill_platform.web.http.visitor import visitor_of

#: Where a handler names its right: `@get("/queue", opt={"right": Right.ANYONE})`.
RIGHT = "right"
_NEEDS = {
    Right.SUBMIT: "submitting",
    Right.ACCOUNT: "an account",
    Right.REVIEW: "reviewing",
    Right.OPERATE: "operating the queue",
    Right.BLOCK: "changing the blocklist",
    Right.ADMINISTER: "administering",
}


async def check_right(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let a request through to its handler, or say what is missing."""
    if is_about_options(handler):
        return
    right: Right = handler.opt[RIGHT]
    visitor = visitor_of(connection)
    if not visitor.may(right, get_settings()):
        raise _refusal(visitor, right)
    await check_csrf(connection)


def _refusal(visitor: Visitor, right: Right) -> NotSignedIn | RightMissing:
    what = _NEEDS.get(right, right)
    if visitor.user is None:
        return NotSignedIn(f"{what} requires signing in")
    if visitor.via == "token":
        return RightMissing(f"this token does not allow {what}")
    return RightMissing(f"the role {visitor.user.role} does not allow {what}")


def check_every_handler(app: Litestar) -> None:
    """Stop at a handler without a right: nothing is open because somebody forgot it."""
    for route in app.routes:
        handlers = route.route_handlers if isinstance(route, HTTPRoute) else [route.route_handler]
        for handler in handlers:
            if not is_about_options(handler) and not isinstance(handler.opt.get(RIGHT), Right):
                raise ConfigError(f"{route.path}: {handler} has no right")


def is_about_options(handler: BaseRouteHandler) -> bool:
    """Tell whether it only says which methods a path knows; the framework adds these."""
    return isinstance(handler, HTTPRouteHandler) and handler.http_methods == {HttpMethod.OPTIONS}
