"""The form to report a skill, open to everyone, and the user's own reports with the answers."""

from litestar.response import Redirect, Template

from vskill_platform.errors import InvalidInput
from vskill_platform.publish.versions.find_version import open_version
from vskill_platform.stores.user_report_store import list_reports_by
from vskill_platform.web.html.flash import act, read_flash
from vskill_platform.web.http.api_types import MAX_REASON
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import with_query
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.registry.reports import report_visible
from vskill_platform.web.skills.slugs import find_skill, requested_version

_HERE = "/report"
_MAX_ROWS = 50


async def report_page(request: WebRequest) -> Template:
    """Show the form to report a skill, or without one the reports of the user."""
    messages, cookies = read_flash(request, on=_HERE)
    visitor, name = visitor_of(request), request.query_params.get("skill", "")
    skill, version = None, requested_version(request)
    if name:
        skill = await find_skill(request, name)
        if version:
            await open_version(skill, version)
    user = visitor.user
    context = {
        "skill": skill,
        "version": version or "",
        "reports": await list_reports_by(user.name, limit=_MAX_ROWS) if user else [],
        "max_reason": MAX_REASON,
    }
    return Template("pages/report.html", context=messages | context, cookies=cookies)


async def report_form(request: WebRequest) -> Redirect:
    fields = await read_fields(request)
    name, version = fields.get("skill", ""), fields.get("version", "")

    async def work() -> str:
        if not (reason := fields.get("reason", "").strip()):
            raise InvalidInput("say what is wrong with it")
        made = await report_visible(request, name, version=version, reason=reason)
        return f"Thank you. The reviewers will read your report {made.id}."

    back = with_query(_HERE, skill=name, version=version)
    return await act(_HERE, work, on_error=back, on=_HERE)
