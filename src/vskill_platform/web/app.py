"""Every path of the web, in one table."""

from pathlib import Path

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig
from litestar.types import ControllerRouterHandler

from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.fetch.snapshot import MAX_FILES
from vskill_platform.model.rights import Right
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.html.templating import build_templates
from vskill_platform.web.http.bodies import MAX_BODY_BYTES, BoundedRequest
from vskill_platform.web.http.env_middleware import EnvMiddleware
from vskill_platform.web.http.etags import ETags
from vskill_platform.web.http.guard import check_every_handler, check_right
from vskill_platform.web.http.head_requests import HeadRequests
from vskill_platform.web.http.headers import add_headers
from vskill_platform.web.http.middleware import AccessMiddleware
from vskill_platform.web.http.problems import answer_problem
from vskill_platform.web.http.rate_limits import RateLimits
from vskill_platform.web.http.search_index import warn_if_stale
from vskill_platform.web.live.broadcast import Broadcast
from vskill_platform.web.live.events import live_queue, live_submission
from vskill_platform.web.openapi import api_router, openapi_document
from vskill_platform.web.people.account_page import (
    account_page,
    add_own_token,
    change_members,
    change_password,
    end_own_session,
    end_own_sessions,
    revoke_own_token,
)
from vskill_platform.web.people.audit_page import audit_page
from vskill_platform.web.people.sign_in_page import sign_in_form, sign_in_page, sign_out
from vskill_platform.web.people.users_page import (
    add_user_form,
    namespace_form,
    people_page,
    revoke_token_form,
    user_form,
)
from vskill_platform.web.people.welcome_page import welcome_form, welcome_page
from vskill_platform.web.registry.api_page import api_page
from vskill_platform.web.registry.dashboard_page import dashboard_page
from vskill_platform.web.registry.policy_page import dry_run_form, policy_page
from vskill_platform.web.registry.probes import (
    KnownHealth,
    KnownReadiness,
    healthz,
    queue_healthz,
    readyz,
)
from vskill_platform.web.registry.rescan import apply_rescan_form, rescan_page, start_rescan_form
from vskill_platform.web.registry.trust_page import trust_page
from vskill_platform.web.reviews.blocklist_page import block_form, blocklist_page, unblock_form
from vskill_platform.web.reviews.review_page import review_page, reviews_page, ruling_form
from vskill_platform.web.skills.counted_installs import CountedInstalls
from vskill_platform.web.skills.manage_page import manage_page, visibility_form, yank_form
from vskill_platform.web.skills.marketplace import marketplace
from vskill_platform.web.skills.skill_pages import skill_pages, skills_root
from vskill_platform.web.skills.slug_paths import SlugPaths
from vskill_platform.web.submissions.admin_queue_page import (
    admin_queue_page,
    drop_form,
    pause_form,
    requeue_all_form,
    requeue_form,
    resume_form,
    revive_form,
)
from vskill_platform.web.submissions.external_scans import external_scan_callback
from vskill_platform.web.submissions.queue_page import queue_page
from vskill_platform.web.submissions.submission_page import (
    retry_form,
    submission_page,
    withdraw_form,
)
from vskill_platform.web.submissions.submit_page import submit_chosen_form, submit_form, submit_page

#: What a form holds besides the files of a skill.
_OTHER_PARTS = 20
_STATIC = Path(__file__).parent / "static"

#: For everybody.
_PAGES: list[ControllerRouterHandler] = [
    marketplace,
    skills_root,
    skill_pages,
    trust_page,
    submit_page,
    submit_form,
    submit_chosen_form,
    submission_page,
    retry_form,
    withdraw_form,
    queue_page,
    live_submission,
    live_queue,
    api_page,
    openapi_document,
]
#: For whoever signs in.
_ACCOUNT: list[ControllerRouterHandler] = [
    sign_in_page,
    sign_in_form,
    sign_out,
    welcome_page,
    welcome_form,
    account_page,
    change_password,
    add_own_token,
    revoke_own_token,
    end_own_session,
    end_own_sessions,
    change_members,
]
#: For operators.
_ADMIN: list[ControllerRouterHandler] = [
    dashboard_page,
    admin_queue_page,
    pause_form,
    resume_form,
    requeue_all_form,
    requeue_form,
    revive_form,
    drop_form,
    reviews_page,
    review_page,
    ruling_form,
    blocklist_page,
    block_form,
    unblock_form,
    rescan_page,
    start_rescan_form,
    apply_rescan_form,
    policy_page,
    dry_run_form,
    people_page,
    add_user_form,
    user_form,
    revoke_token_form,
    namespace_form,
    audit_page,
    manage_page,
    yank_form,
    visibility_form,
]
#: For those who watch whether it runs.
_HEALTH: list[ControllerRouterHandler] = [
    healthz,
    readyz,
    queue_healthz,
]


def build_state(
    limits: RateLimits, catalogue: Catalogue | None, broadcast: Broadcast | None
) -> State:
    """Return what the requests of one application share."""
    return State(
        {
            "limits": limits,
            "catalogue": catalogue,
            "broadcast": broadcast,
            "health": KnownHealth(),
            "readiness": KnownReadiness(),
            "counted_installs": CountedInstalls(),
        }
    )


def create_app(
    env: WorkerEnv, *, catalogue: Catalogue | None = None, broadcast: Broadcast | None = None
) -> Litestar:
    """Build the application; every request runs with *env* in reach.

    Without a catalogue what is searched and listed is not ready, and without a broadcast pages
    look again by themselves.

    Each handler names the right that it needs, `opt={"right": Right.…}`; one that does not is a
    mistake that stops the start.
    """
    limits = RateLimits()
    static = create_static_files_router("/static", [_STATIC], opt={"right": Right.ANYONE})
    # Pages are for people: the document of the API is silent about them.
    pages = Router(
        "/", route_handlers=[*_PAGES, *_ACCOUNT, *_ADMIN, static], include_in_schema=False
    )
    app = Litestar(
        route_handlers=[api_router(), external_scan_callback, *_HEALTH, pages],
        guards=[check_right],
        exception_handlers={Exception: answer_problem},
        before_send=[add_headers, warn_if_stale],
        template_config=TemplateConfig(instance=build_templates()),
        state=build_state(limits, catalogue, broadcast),
        request_class=BoundedRequest,
        request_max_body_size=MAX_BODY_BYTES,
        multipart_form_part_limit=MAX_FILES + _OTHER_PARTS,
        openapi_config=None,
        logging_config=None,
    )
    check_every_handler(app)
    # Before the routing and its errors: a path that does not exist answers in the same dress.
    inside = HeadRequests(ETags(SlugPaths(app.asgi_handler)))
    app.asgi_handler = EnvMiddleware(AccessMiddleware(inside, limits), env)
    return app
