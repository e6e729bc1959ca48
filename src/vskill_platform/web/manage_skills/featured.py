"""Featured skills: the page of staff, the buttons of other pages, and the API."""

from typing import Annotated

import msgspec
from litestar.params import FromPath, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.errors import InvalidInput
from vskill_platform.publish.moderation.feature_skills import (
    feature,
    list_featured,
    move_featured,
    set_featured,
    unfeature,
)
from vskill_platform.settings import MAX_FEATURED
from vskill_platform.stores.featured_store import get_featured
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.api_types import Shape
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of

_HERE = "/admin/featured"


async def featured_page(request: WebRequest) -> Template:
    """Show the featured skills in order; those that are not listed are marked."""
    slugs, visible = await list_featured(), await visible_to(visitor_of(request))
    hits = {one.slug: one for one in await catalogue_of(request).read_hits(slugs, visible=visible)}
    stored = await get_featured()
    context = {
        "rows": [(slug, hits.get(slug)) for slug in slugs],
        "saved": stored.record if stored else None,
        "max_featured": MAX_FEATURED,
        "typed": request.query_params.get("slug", "")[:400],
    }
    return admin_page(request, "admin/featured.html", context)


async def feature_form(request: WebRequest, action: FromPath[str]) -> Redirect:
    """Add, remove or move a skill, and show the page with the button again."""
    fields, actor = await read_fields(request), visitor_of(request).name
    slug = fields.get("slug", "")

    async def work() -> str:
        if action == "add":
            await feature(slug, actor=actor)
            return f"{slug} is featured on the home page."
        if action == "remove":
            await unfeature(slug, actor=actor)
            return f"{slug} is no longer featured."
        if action in {"up", "down"}:
            await move_featured(slug, -1 if action == "up" else 1, actor=actor)
            return "The order is saved."
        raise InvalidInput("choose add, remove, up or down")

    is_skill_page = fields.get("back") == "skill"
    return await act(f"/admin/skills/{slug.strip('/')}" if is_skill_page else _HERE, work,
                     on_error=_HERE)  # fmt: skip


class FeaturedResponse(Shape, frozen=True, kw_only=True):
    #: In the order of the home page, without skills that you may not see.
    slugs: list[str]


class FeaturedRequest(Shape, frozen=True, kw_only=True):
    slugs: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=400)]], msgspec.Meta(max_length=MAX_FEATURED)
    ]


async def show_featured(request: WebRequest) -> FeaturedResponse:
    """List the featured skills in order."""
    visible = await visible_to(visitor_of(request))
    hits = await catalogue_of(request).read_hits(await list_featured(), visible=visible)
    return FeaturedResponse(slugs=[hit.slug for hit in hits])


async def set_over_api(request: WebRequest, data: JSONBody[FeaturedRequest]) -> FeaturedResponse:
    """Choose the featured skills and their order."""
    slugs = await set_featured(data.slugs, actor=visitor_of(request).name)
    return FeaturedResponse(slugs=list(slugs))
