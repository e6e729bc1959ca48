"""The whole web application for a test; its routes are registered once for all tests.

To register them takes longer than most tests of a page. What differs from one application to the
next is around the routes: the env, the limits, what is searched and who listens.
"""

from copy import copy
from functools import cache
from typing import Any, cast

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.app import behind_access, build_state, create_app
from vskill_platform.web.http.middleware import HeadRequests
from vskill_platform.web.http.rate_limits import RateLimits
from vskill_platform.web.live.broadcast import Broadcast


def an_app(
    env: WorkerEnv,
    *more: HTTPRouteHandler,
    catalogue: Catalogue | None = None,
    broadcast: Broadcast | None = None,
) -> Litestar:
    """Return what `create_app` would build, with some routes *more*.

    They are named here, not registered later: the routes are those of other tests too.
    """
    app = copy(_built(*more))
    limits = RateLimits()
    app.state = build_state(limits, catalogue, broadcast)
    inside: Any = app.asgi_handler
    while not isinstance(inside, HeadRequests):  # the outermost one that all applications share
        inside = inside._app
    app.asgi_handler = behind_access(inside, env, limits)
    return app


@cache
def _built(*more: HTTPRouteHandler) -> Litestar:
    app = create_app(cast("WorkerEnv", None))
    for handler in more:
        app.register(handler)
    return app
