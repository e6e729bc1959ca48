"""Reports by users, about skills and about the registry: the page of staff, and the API."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_201_CREATED

from vskill_platform.errors import InvalidInput, NotAllowed, NotSignedIn
from vskill_platform.model.rights import Visitor
from vskill_platform.publish.moderation.user_reports import (
    close_report,
    report_problem,
    report_skill,
)
from vskill_platform.publish.versions.find_version import open_version
from vskill_platform.stores.user_report_store import (
    ReportKind,
    UserReport,
    list_open_reports,
    list_reports_by,
    list_user_reports,
)
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import (
    MAX_REASON,
    Limit,
    ReasonText,
    Shape,
    Text,
    clamp,
    key_cursor,
    read_key,
)
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.slugs import find_skill

_HERE = "/admin/reports"
_MAX_ROWS = 100
#: Longer descriptions are cut, because clients send up to a few thousand characters.
_Long = Annotated[str, msgspec.Meta(max_length=10_000)]


class ReportRequest(Shape, frozen=True, kw_only=True):
    skill_name: Text = ""
    slug: Text = ""
    #: A version of the skill; empty for the skill as a whole.
    version: Text = ""
    reason: _Long = ""
    description: _Long = ""


class ProblemRequest(Shape, frozen=True, kw_only=True):
    """A problem with the registry, in any of the fields that clients use."""

    title: Text = ""
    description: _Long = ""
    message: _Long = ""
    #: The subject of the problem.
    category: Text = ""
    url: Text = ""
    page: Text = ""


class ReportItem(Shape, frozen=True, kw_only=True):
    id: str
    #: skill or problem
    kind: str
    #: The slug of the skill, or the page with the problem.
    subject: str
    #: The version of the skill; empty if the report names none.
    version: str
    reason: str
    by: str
    #: open or closed
    status: str
    created_at: datetime
    closed_by: str | None
    closed_at: datetime | None
    answer: str | None


class ReportCreated(Shape, frozen=True, kw_only=True):
    ok: bool = True
    id: str
    report: ReportItem


class ReportList(Shape, frozen=True, kw_only=True):
    reports: list[ReportItem]
    next_cursor: str | None


class OwnReports(Shape, frozen=True, kw_only=True):
    reports: list[ReportItem]


class ProblemReports(Shape, frozen=True, kw_only=True):
    reports: list[ReportItem]
    #: The same list, in the other field that clients read.
    problem_reports: list[ReportItem]
    total: int


class Closing(Shape, frozen=True, kw_only=True):
    answer: ReasonText


@operation(status=HTTP_201_CREATED, also=(404,))
async def report_over_api(request: WebRequest, data: JSONBody[ReportRequest]) -> ReportCreated:
    """Report a skill, or one version of it, to the reviewers; no account is needed."""
    name, reason = data.slug or data.skill_name, (data.reason or data.description).strip()
    if not name or not reason:
        raise InvalidInput("give the slug of a skill and a reason")
    made = await report_visible(request, name, version=data.version, reason=reason)
    return ReportCreated(id=made.id, report=report_item(made))


async def report_visible(
    request: WebRequest, name: str, *, version: str, reason: str
) -> UserReport:
    """Report a skill that this visitor can see; raise if it has no such version."""
    skill = await find_skill(request, name)
    if version:
        await open_version(skill, version)
    actor = visitor_of(request).name
    return await report_skill(skill.slug, version=version, reason=reason[:MAX_REASON], actor=actor)


@operation(status=HTTP_201_CREATED)
async def report_problem_over_api(
    request: WebRequest, data: JSONBody[ProblemRequest]
) -> ReportCreated:
    """Report a problem with the registry to its staff."""
    parts = (data.category, data.title, data.description or data.message)
    reason = ": ".join(part.strip() for part in parts if part.strip())
    if not (data.title.strip() or data.description.strip() or data.message.strip()):
        raise InvalidInput("describe the problem")
    made = await report_problem(
        (data.url or data.page).strip(), reason=reason, actor=visitor_of(request).name
    )
    return ReportCreated(id=made.id, report=report_item(made))


@operation(also=(403,))
async def list_own_problems(request: WebRequest) -> ProblemReports:
    """List the problems that you reported, with the answers; at most 100."""
    found = await list_reports_by(_signed_in(request).name, limit=_MAX_ROWS)
    items = [report_item(one) for one in found if one.kind is ReportKind.PROBLEM]
    return ProblemReports(reports=items, problem_reports=items, total=len(items))


@operation(also=(403,))
async def list_own_reports(request: WebRequest) -> OwnReports:
    """List your reports, with the answers; at most 100."""
    found = await list_reports_by(_signed_in(request).name, limit=_MAX_ROWS)
    return OwnReports(reports=[report_item(one) for one in found])


async def list_reports(
    status: FromQuery[Literal["open", "all"]] = "all",
    kind: FromQuery[ReportKind] = ReportKind.SKILL,
    cursor: FromQuery[str | None] = None,
    limit: Limit = 50,
) -> Response[ReportList]:
    """List reports, newest first: the open ones of a kind, or all. At most 100 at once."""
    size, headers = clamp(limit, _MAX_ROWS)
    if status == "open":
        found, following = await list_open_reports(kind, limit=size), None
    else:
        page = await list_user_reports(after=read_key(cursor), limit=size)
        found, following = page.reports, key_cursor(page.cursor)
    answer = ReportList(reports=[report_item(one) for one in found], next_cursor=following)
    return Response(answer, headers=headers)


async def close_over_api(
    request: WebRequest, report_id: FromPath[str], data: JSONBody[Closing]
) -> ReportItem:
    """Close a report; its author can see the answer."""
    actor = visitor_of(request).name
    return report_item(await close_report(report_id, answer=data.answer, actor=actor))


async def reports_page(request: WebRequest) -> Template:
    after = read_key(request.query_params.get("after") or None)
    page = await list_user_reports(after=after, limit=_MAX_ROWS)
    opened = {kind: await list_open_reports(kind, limit=_MAX_ROWS) for kind in ReportKind}
    context = {
        "opened": [one for reports in opened.values() for one in reports],
        "closed": [one for one in page.reports if not one.is_open],
        "next": key_cursor(page.cursor),
        "is_first": after is None,
        "most": _MAX_ROWS,
        "max_answer": MAX_REASON,
    }
    return admin_page(request, "admin/reports.html", context)


async def close_report_form(request: WebRequest, report_id: FromPath[str]) -> Redirect:
    fields, actor = await read_fields(request), visitor_of(request).name

    async def work() -> str:
        answer = fields.get("reason", "")[:MAX_REASON]
        closed = await close_report(report_id, answer=answer, actor=actor)
        return f"The report by {closed.by} was closed."

    return await act(_HERE, work)


def report_item(one: UserReport) -> ReportItem:
    return ReportItem(
        id=one.id,
        kind=one.kind,
        subject=one.subject,
        version=one.version,
        reason=one.reason,
        by=one.by,
        status="open" if one.is_open else "closed",
        created_at=one.at,
        closed_by=one.closed_by or None,
        closed_at=one.closed_at,
        answer=one.answer or None,
    )


def _signed_in(request: WebRequest) -> Visitor:
    visitor = visitor_of(request)
    if visitor.user is None:
        raise NotSignedIn("sign in to see your reports")
    if visitor.only_in:
        raise NotAllowed("a token for one namespace does not show your reports")
    return visitor
