"""Rescans of published skills, as a page and over the API."""

import asyncio
from datetime import datetime

from litestar.params import FromPath
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_202_ACCEPTED

from vskill_platform.access.namespaces import check_may_manage
from vskill_platform.cron.request_runs import request_full_rescan, request_one_rescan
from vskill_platform.cron.schedule import RESCAN
from vskill_platform.engines.ports import BACKGROUND
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.publish.rescans.apply_rescan import Consequence, apply_rescan
from vskill_platform.publish.rescans.rescan_requests import get_open_rescan_request
from vskill_platform.publish.rescans.rescan_skills import (
    current_standard,
    list_changed,
    list_due_skills,
)
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.stores.background_store import RescanMessage, get_failures
from vskill_platform.stores.cron_store import get_cron_run
from vskill_platform.stores.db import get_now, get_queue
from vskill_platform.stores.rescan_store import get_rescan_done
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import Ok, Shape
from vskill_platform.web.http.bodies import read_choices, read_fields
from vskill_platform.web.http.rate_limits import limits_of, quota_key
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.slugs import SKILL_ID, find_listed

_HERE = "/admin/rescan"
RESCANS_PER_HOUR = 30


async def rescan_page(request: WebRequest) -> Template:
    failures, queued = await get_failures(RescanMessage), await get_queue().count_group(BACKGROUND)
    due, changed, last, done, requested = await asyncio.gather(
        list_due_skills(),
        list_changed(),
        get_cron_run(RESCAN.name),
        get_rescan_done(),
        get_open_rescan_request(),
    )
    context = {
        "due": len(due),
        "failed": [failures[skill.slug] for skill in due if skill.slug in failures],
        "queued": queued,
        "changed": changed,
        "last": last.record if last else None,
        "done_at": done.at if done else None,
        "is_done": done is not None and done.standard == current_standard(),
        "requested": requested,
        "standard": current_standard(),
        "ruleset": ruleset_version(),
    }
    return admin_page(request, "admin/rescan.html", context)


async def start_rescan_form(request: WebRequest) -> Redirect:
    async def work() -> str:
        await request_full_rescan(actor=visitor_of(request).name)
        return "The rescan starts within seconds. Nothing is taken down unless you choose to."

    return await act(_HERE, work)


async def apply_rescan_form(request: WebRequest) -> Redirect:
    """Take down the selected skills with a worse verdict."""
    fields, slugs = await read_fields(request), set(await read_choices(request, "slug"))
    actor = visitor_of(request).name

    async def work() -> str:
        if not slugs:
            raise InvalidInput("select the skills to take down")
        if fields.get("consequence") not in set(Consequence):
            raise InvalidInput("choose review or reject")
        worse = {one.slug: one for one in await list_changed() if one.is_worse}
        if unknown := slugs - set(worse):
            raise NotFound(f"{', '.join(sorted(unknown))} has no worse verdict")
        consequence = Consequence(fields["consequence"])
        applied = [
            slug
            for slug in sorted(slugs)
            if await apply_rescan(worse[slug], consequence, actor=actor)
        ]
        return f"Taken down: {', '.join(applied) or 'none, because they have changed'}."

    return await act(_HERE, work)


class RescanItem(Shape, frozen=True, kw_only=True):
    slug: str
    version: str
    old: str
    new: str
    is_worse: bool
    clause: str
    rule: str | None


class RescanJob(Shape, frozen=True, kw_only=True):
    job_id: str
    slug: str


class RescanResponse(Shape, frozen=True, kw_only=True):
    standard: str
    ruleset: str
    left: int
    done_at: datetime | None
    #: When a pending rescan was requested.
    asked_at: datetime | None
    changed: list[RescanItem]


async def show_rescan() -> RescanResponse:
    """Show the verdicts that changed with the current rules and policy."""
    due, changed, done, requested = await asyncio.gather(
        list_due_skills(), list_changed(), get_rescan_done(), get_open_rescan_request()
    )
    return RescanResponse(
        standard=current_standard(),
        ruleset=ruleset_version(),
        left=len(due),
        done_at=done.at if done else None,
        asked_at=requested.at if requested else None,
        changed=[
            RescanItem(
                slug=one.slug,
                version=one.version,
                old=one.old,
                new=one.new,
                is_worse=one.is_worse,
                clause=one.clause,
                rule=one.finding.rule if one.finding else None,
            )
            for one in changed
        ],
    )


@operation(status=HTTP_202_ACCEPTED)
async def start_rescan(request: WebRequest) -> Ok:
    """Rescan all published skills. A rescan takes nothing down."""
    await request_full_rescan(actor=visitor_of(request).name)
    return Ok()


@operation(status=HTTP_202_ACCEPTED)
async def rescan_one(request: WebRequest, slug: FromPath[str]) -> RescanJob:
    """Rescan the latest version of one skill. If a rescan is already pending, return its job."""
    visitor = visitor_of(request)
    skill = await find_listed(request, slug.removeprefix(SKILL_ID))
    await check_may_manage(visitor, skill)
    limits_of(request).take_hourly(
        "rescan", quota_key(visitor), per_hour=RESCANS_PER_HOUR, now=get_now()
    )
    asked = await request_one_rescan(skill.slug, actor=visitor.name)
    return RescanJob(job_id=asked.id, slug=skill.slug)
