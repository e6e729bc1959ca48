"""Every path of the API, in one table, and the document that describes them."""

from functools import cache
from typing import Any

from litestar import Litestar, Router, get
from litestar.openapi.config import OpenAPIConfig
from litestar.types import ControllerRouterHandler

from vskill_platform import __version__
from vskill_platform.model.rights import Right
from vskill_platform.web.describe_answers import describe_answers
from vskill_platform.web.http.media_types import check_media_type
from vskill_platform.web.people.people_api import (
    add_user_over_api,
    audit_over_api,
    change_user,
    list_own_tokens,
    list_tenants,
    make_token,
    revoke_over_api,
    sign_out_all,
    users_over_api,
    who_am_i,
)
from vskill_platform.web.registry.policy import show_policy, show_rescan, start_rescan, try_over_api
from vskill_platform.web.registry.queue_health_api import queue_health, queue_stats
from vskill_platform.web.reviews.blocklist import add_block, remove_block, show_blocklist
from vskill_platform.web.reviews.check_block import check_blocklist
from vskill_platform.web.reviews.review_api import review_over_api, reviews_over_api, rule_over_api
from vskill_platform.web.skills.installs import check_updates, report_install, report_installs
from vskill_platform.web.skills.search_api import list_skills, search_skills, suggest_skills
from vskill_platform.web.skills.security import show_repo_health, show_security
from vskill_platform.web.skills.skill_api import (
    change_visibility,
    download_skill,
    show_badge,
    show_files,
    show_skill,
    unyank_over_api,
    yank_over_api,
)
from vskill_platform.web.skills.versions import (
    compare_versions,
    show_diff,
    show_version,
    show_versions,
)
from vskill_platform.web.submissions.queue_api import (
    drop_over_api,
    list_dead_letters,
    list_stuck,
    pause_over_api,
    requeue_over_api,
    resume_over_api,
    revive_over_api,
)
from vskill_platform.web.submissions.show_submissions import (
    list_submissions,
    retry_over_api,
    show_positions,
    show_submission,
    withdraw_over_api,
)
from vskill_platform.web.submissions.submit_api import (
    create_submission,
    discover_skills,
    upload_submission,
)

HANDLERS: list[ControllerRouterHandler] = [
    create_submission,
    upload_submission,
    discover_skills,
    list_submissions,
    show_positions,
    show_submission,
    retry_over_api,
    withdraw_over_api,
    search_skills,
    list_skills,
    suggest_skills,
    show_skill,
    show_versions,
    show_diff,
    compare_versions,
    show_version,
    show_files,
    download_skill,
    show_badge,
    show_security,
    show_repo_health,
    yank_over_api,
    unyank_over_api,
    change_visibility,
    check_updates,
    report_install,
    report_installs,
    show_blocklist,
    check_blocklist,
    add_block,
    remove_block,
    queue_stats,
    queue_health,
    list_stuck,
    requeue_over_api,
    pause_over_api,
    resume_over_api,
    list_dead_letters,
    revive_over_api,
    drop_over_api,
    reviews_over_api,
    review_over_api,
    rule_over_api,
    who_am_i,
    list_tenants,
    sign_out_all,
    list_own_tokens,
    make_token,
    revoke_over_api,
    users_over_api,
    add_user_over_api,
    change_user,
    audit_over_api,
    show_policy,
    try_over_api,
    show_rescan,
    start_rescan,
]

_ABOUT = (
    "Slugs such as `ada/notes/tidy` may be written with their slashes or with %2F. Errors are "
    "problem+json with a `code` for programs and a `hint` for people. Reads carry an ETag. "
    "Programs sign in with a token: `Authorization: Bearer vsk_…`"
)


def api_router() -> Router:
    return Router("/api/v1", route_handlers=HANDLERS, guards=[check_media_type])


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI document of the API.

    An app that is never run makes it: in the real one the framework would add pages of its own,
    which load scripts from other hosts.
    """
    config = OpenAPIConfig(
        title="vskill-platform",
        version=__version__,
        description=_ABOUT,
        use_handler_docstrings=True,
    )
    described = Litestar(route_handlers=[api_router()], openapi_config=config, logging_config=None)
    document = described.openapi_schema.to_schema()
    describe_answers(document, described)
    return document


@get("/api/openapi.json", opt={"right": Right.ANYONE}, include_in_schema=False)
async def openapi_document() -> dict[str, Any]:
    return describe_api()
