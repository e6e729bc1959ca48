"""What every request passes on its way in: its name, who sent it, and whether that is too often."""

from typing import Any

from litestar import Request
from litestar.types import ASGIApp, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from vskill_platform.errors import NotFound, NotSignedIn, VskillError, WrongHost
from vskill_platform.stores.db import get_now, get_settings
from vskill_platform.web.http.concurrency_quota import held_until_answered
from vskill_platform.web.http.headers import NEW_VISIT
from vskill_platform.web.http.hosts import check_host
from vskill_platform.web.http.identify import address_of, identify
from vskill_platform.web.http.problems import answer_problem
from vskill_platform.web.http.rate_limits import RateLimits, household, who_asks
from vskill_platform.web.http.request_id import request_id_of
from vskill_platform.web.http.requests import SAFE_METHODS, is_health, is_plain, leads_nowhere
from vskill_platform.web.http.visitor import VISITOR


class AccessMiddleware:
    """Stands before the routing, so that also who asks for what is not there is known."""

    def __init__(self, app: ASGIApp, limits: RateLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with bound_contextvars(request_id=request_id_of(scope)), held_until_answered(scope):
            request: Request[Any, Any, Any] = Request(scope, receive, send)
            try:
                await self._let_in(request)
                await self._app(scope, receive, send)
            except VskillError as error:  # from here or on the way to the routing; behind it, never
                answer = answer_problem(request, error).to_asgi_response(app=None, request=request)
                await answer(scope, receive, send)

    async def _let_in(self, request: Request[Any, Any, Any]) -> None:
        path = request.scope["path"]
        if is_health(path):
            return
        try:
            check_host(request.scope, get_settings())
            if is_plain(path):
                return
            found = await identify(request)
        except (NotSignedIn, WrongHost):
            self._count(request, household(address_of(request)))  # so that nobody tries all day
            raise
        request.scope["state"][VISITOR] = found.visitor
        request.scope["state"][NEW_VISIT] = found.new_visit
        self._count(request, who_asks(found.visitor))
        if leads_nowhere(path):
            raise NotFound("no page and no answer has this address")

    def _count(self, request: Request[Any, Any, Any], who: str) -> None:
        settings = get_settings()
        is_read = request.scope["method"] in SAFE_METHODS
        kind, rate = (
            ("read", settings.reads_per_minute)
            if is_read
            else ("write", settings.writes_per_minute)
        )
        self._limits.take(kind, who, per_minute=rate, now=get_now())
