"""Access control: checks the right of a route before its handler runs."""

import msgspec
from litestar import Litestar
from litestar.enums import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.routes import HTTPRoute

from vskill_platform.errors import ConfigError, NotSignedIn, RightMissing, ScopeMissing
from vskill_platform.model.rights import RIGHTS, SCOPE_RIGHTS, Right, Role, Visitor
from vskill_platform.publish.policy.current_policy import with_current_policy
from vskill_platform.runtime.worker_context import worker_env_storage
from vskill_platform.stores.db import bound_env, get_settings
from vskill_platform.web.http.csrf import check_csrf, keep_typed_reason
from vskill_platform.web.http.requests import WebConnection
from vskill_platform.web.http.visitor import visitor_of

#: Key of a handler's right in its `opt`.
RIGHT = "right"
_NEEDS = {
    Right.SUBMIT: "submitting",
    Right.MANAGE: "managing skills",
    Right.REPORT: "reporting",
    Right.ACCOUNT: "managing your account",
    Right.SESSIONS: "managing your sessions",
    Right.DELETE_ACCOUNT: "deleting your account",
    Right.REVIEW: "reviewing",
    Right.OPERATE: "managing the queue",
    Right.BLOCK: "changing the blocklist",
    Right.ADMINISTER: "administering the registry",
}


#: Rights whose use depends on the policy. All other requests, such as signing in or changing the
#: policy, work even if a saved policy cannot be applied.
_DECIDED_BY_POLICY = frozenset({Right.SUBMIT, Right.MANAGE, Right.REVIEW})
_RESCAN = "rescan"


def require_right(visitor: Visitor, right: Right) -> None:
    """Raise unless the visitor has this right, for handlers that need more than their route."""
    if not visitor.may(right, get_settings()):
        raise _refusal(visitor, right)


async def check_right(connection: WebConnection, handler: BaseRouteHandler) -> None:
    """Raise unless the visitor has the right of the route and the request is not forged."""
    if is_options_handler(handler):
        return
    right: Right = handler.opt[RIGHT]
    try:
        require_right(visitor_of(connection), right)
    except NotSignedIn:
        await keep_typed_reason(connection)
        raise
    await check_csrf(connection)


async def use_current_policy(connection: WebConnection, handler: BaseRouteHandler) -> None:
    """Bind the current policy, for requests that depend on it."""
    is_decided = handler.opt.get(RIGHT) in _DECIDED_BY_POLICY
    if is_decided or _RESCAN in connection.scope["path"]:
        # The binding ends with the context of the request. Only this function may bind an env like
        # this.
        worker_env_storage.set(await with_current_policy(bound_env()))


def _refusal(visitor: Visitor, right: Right) -> NotSignedIn | RightMissing:
    what = _NEEDS.get(right, right)
    if visitor.user is None:
        return NotSignedIn(f"{what} requires signing in")
    if visitor.needs_second_factor and right not in RIGHTS[Role.PUBLISHER]:
        return RightMissing(
            f"{what} requires a second factor: set it up at /account/security, or sign in with it"
        )
    without_token = msgspec.structs.replace(visitor, via="session")
    if visitor.via == "token" and without_token.may(right, get_settings()):
        scope = next(scope for scope, rights in SCOPE_RIGHTS.items() if right in rights)
        return ScopeMissing(f"this token does not allow {what}: it needs the scope {scope}")
    return RightMissing(f"your role ({visitor.user.role}) does not allow {what}")


def check_every_handler(app: Litestar) -> None:
    """Raise if a handler has no right, so that no handler is open by mistake."""
    for route in app.routes:
        handlers = route.route_handlers if isinstance(route, HTTPRoute) else [route.route_handler]
        for handler in handlers:
            if not is_options_handler(handler) and not isinstance(handler.opt.get(RIGHT), Right):
                raise ConfigError(f"{route.path}: {handler} has no right")


def is_options_handler(handler: BaseRouteHandler) -> bool:
    """Return whether it is one of the OPTIONS handlers that Litestar adds."""
    return isinstance(handler, HTTPRouteHandler) and handler.http_methods == {HttpMethod.OPTIONS}
