"""The home page: what this registry is, with links to its parts."""

import asyncio
from typing import Any

from litestar import Response
from litestar.response import Template

from vskill_platform.base.telemetry import get_logger
from vskill_platform.catalogue.catalogue import Catalogue
from vskill_platform.catalogue.query import (
    Counts,
    SkillHit,
    SkillQuery,
    SkillResults,
    SkillSort,
    Visible,
)
from vskill_platform.errors import EngineError
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.moderation.feature_skills import list_featured
from vskill_platform.settings import featured_slugs
from vskill_platform.stores.db import get_settings
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.marketplace_page import Search, skill_list

log = get_logger(__name__)

#: How many skills, taken-down skills and tags the page shows.
_SHOWN, _SHOWN_DOWN, _SHOWN_TAGS = 6, 4, 18
_S = SubmissionState
_STOPPED = (_S.TIER1_FAILED, _S.REJECTED, _S.BLOCKED)
#: States without a completed check: in progress or withdrawn.
_UNCHECKED = (_S.RECEIVED, _S.TIER1_SCANNING, _S.TIER2_SCANNING, _S.DEQUEUED)


async def home_page(request: WebRequest) -> Response[Any]:
    """Show the home page; a URL with a search shows the list, as in earlier releases."""
    if request.query_params:
        return await skill_list(request)
    catalogue = catalogue_of(request)
    visible = await visible_to(visitor_of(request))
    featured = await _featured(catalogue, visible)
    limit = _SHOWN + len(featured)  # featured skills are not shown twice
    installed, newest, down, counts = await asyncio.gather(
        _first(catalogue, SkillSort.INSTALLS, visible, limit=limit, with_facets=True),
        _first(catalogue, SkillSort.NEWEST, visible, limit=limit),
        catalogue.list_taken_down(limit=_SHOWN_DOWN, visible=visible),
        catalogue.count_all(visible=visible),
    )
    tags = (installed.facets or {}).get("tag", [])[:_SHOWN_TAGS]
    return Template(
        "pages/home.html",
        context={
            "section": "home",
            "featured": featured,
            "installed": _without(featured, [hit for hit in installed.hits if hit.installs]),
            "newest": _without(featured, newest.hits),
            "down": down.skills,
            "tags": [(tag, count, Search(tag=tag).address()) for tag, count in tags],
            "published": counts.published,
            "checked": _checked(counts),
            "stopped": sum(counts.by_state[state] for state in _STOPPED),
            "has_judge": get_settings().judge_url != "",
            "freshness": catalogue.freshness,
        },
    )


async def _first(
    catalogue: Catalogue,
    sort: SkillSort,
    visible: Visible,
    *,
    limit: int,
    with_facets: bool = False,
) -> SkillResults:
    query = SkillQuery(sort=sort, limit=limit, visible=visible, with_facets=with_facets)
    return await catalogue.search_skills(query)


def _without(featured: list[SkillHit], hits: list[SkillHit]) -> list[SkillHit]:
    slugs = {hit.slug for hit in featured}
    return [hit for hit in hits if hit.slug not in slugs][:_SHOWN]


async def _featured(catalogue: Catalogue, visible: Visible) -> list[SkillHit]:
    """Return the featured skills that the visitor may see."""
    try:
        slugs = await list_featured()
    except EngineError as error:  # the rest of the page comes from the search index
        log.warning("featured skills not read", error=str(error))
        slugs = featured_slugs(get_settings())
    return await catalogue.read_hits(slugs, visible=visible) if slugs else []


def _checked(counts: Counts) -> int:
    return sum(n for state, n in counts.by_state.items() if state not in _UNCHECKED)
