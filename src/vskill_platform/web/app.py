"""The web application: the routes of `routes.py`, behind the middleware for every request."""

import gc
from functools import partial
from pathlib import Path

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig
from litestar.types import ASGIApp

from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.fetch.snapshot import MAX_SOURCE_FILES
from vskill_platform.model.rights import Right
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.html.templating import build_templates
from vskill_platform.web.http.bodies import MAX_BODY_BYTES, BoundedRequest
from vskill_platform.web.http.guard import (
    RIGHT,
    check_every_handler,
    check_right,
    use_current_policy,
)
from vskill_platform.web.http.headers import add_headers
from vskill_platform.web.http.middleware import AccessMiddleware, EnvMiddleware, ETags, HeadRequests
from vskill_platform.web.http.numbered_pages import NumberedPages
from vskill_platform.web.http.problems import problem_response
from vskill_platform.web.http.rate_limits import RateLimits
from vskill_platform.web.http.request_log import NoteRoute, RequestLog
from vskill_platform.web.http.route import build_handler
from vskill_platform.web.http.search_index import warn_if_stale
from vskill_platform.web.live.broadcast import Broadcast
from vskill_platform.web.live.wait_for_end import wait_seconds
from vskill_platform.web.openapi import api_router, describe_api
from vskill_platform.web.protocols.clawhub.paths import ClawHubPaths
from vskill_platform.web.protocols.git.repos import GitRepos
from vskill_platform.web.protocols.listings import Listings
from vskill_platform.web.registry.probes import CachedHealth, CachedReadiness
from vskill_platform.web.routes import PAGES, PROTOCOLS
from vskill_platform.web.skills.installs import InstallCounter
from vskill_platform.web.skills.slugs import SlugPaths

#: The number of form fields in addition to the files of a skill.
_OTHER_PARTS = 20
_STATIC = Path(__file__).parent / "static"
#: Python looks for reference cycles after this many new objects. With the default of 700, that
#: takes a twelfth of the time to build the search index.
_OBJECTS_BETWEEN_COLLECTIONS = 20_000


def build_state(
    limits: RateLimits, catalogue: Catalogue | None, broadcast: Broadcast | None
) -> State:
    """Return the state that all requests of an application share."""
    return State(
        {
            "limits": limits,
            "catalogue": catalogue,
            "broadcast": broadcast,
            "wait_for_end": partial(wait_seconds, broadcast) if broadcast else None,
            "health": CachedHealth(),
            "readiness": CachedReadiness(),
            "install_counter": InstallCounter(),
            "describe_api": describe_api,
            "listings": Listings(),
            "numbered_pages": NumberedPages(),
            "git_repos": GitRepos(),
        }
    )


def create_app(
    env: WorkerEnv, *, catalogue: Catalogue | None = None, broadcast: Broadcast | None = None
) -> Litestar:
    """Build the application; every request runs with *env* bound.

    Without a search index, lists and searches respond with "not ready"; without a broadcast, pages
    poll.
    """
    limits = RateLimits()
    static = create_static_files_router("/static", [_STATIC], opt={RIGHT: Right.ANYONE})
    handlers = [build_handler(row) for row in (*PAGES, *PROTOCOLS)]
    pages = Router("/", route_handlers=[*handlers, static], include_in_schema=False)
    app = Litestar(
        route_handlers=[api_router(), pages],
        guards=[check_right, use_current_policy],
        exception_handlers={Exception: problem_response},
        before_send=[add_headers, warn_if_stale],
        template_config=TemplateConfig(instance=build_templates()),
        state=build_state(limits, catalogue, broadcast),
        request_class=BoundedRequest,
        request_max_body_size=MAX_BODY_BYTES,
        multipart_form_part_limit=MAX_SOURCE_FILES + _OTHER_PARTS,
        openapi_config=None,
        logging_config=None,
    )
    check_every_handler(app)
    # Outside the router, so that errors of the router get the same headers and format.
    inside = HeadRequests(ETags(SlugPaths(NoteRoute(app.asgi_handler))))
    app.asgi_handler = behind_access(inside, env, limits)
    return app


def behind_access(inside: ASGIApp, env: WorkerEnv, limits: RateLimits) -> ASGIApp:
    """Wrap an application in the outermost middleware, which differs between applications."""
    known = EnvMiddleware(AccessMiddleware(inside, limits), env)
    return RequestLog(ClawHubPaths(known), env)


def collect_rarely() -> None:
    """Collect garbage less often, and never among the objects that exist now.

    For a process that serves this application until it ends.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
