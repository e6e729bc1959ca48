"""Searching, listing and suggesting skills over the API."""

from litestar import Response
from litestar.params import FromQuery

from vskill_platform.catalogue.query import SkillHit, SkillQuery, SkillResults, SkillSort
from vskill_platform.errors import InvalidInput
from vskill_platform.model.skill import CAPABILITY_KINDS
from vskill_platform.model.source import public_source
from vskill_platform.model.trust import TrustTier
from vskill_platform.web.http.api_types import (
    Limit,
    Offset,
    PageNumber,
    SearchText,
    clamp,
)
from vskill_platform.web.http.list_cursors import next_cursor, start_at
from vskill_platform.web.http.numbered_pages import read_page
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.shapes import (
    Deprecated,
    Paging,
    SearchResponse,
    SkillItem,
    SkillListResponse,
    Suggested,
    cert_tier,
)

MAX_RESULTS = 30
_MAX_PAGE_SIZE = 100


@operation(is_listed=True)
async def search_skills(
    request: WebRequest,
    q: SearchText = "",
    limit: Limit = 7,
    offset: Offset = 0,
    page: PageNumber = 1,
    category: SearchText = "",
    can: SearchText = "",
    cannot: SearchText = "",
    cursor: FromQuery[str | None] = None,
) -> Response[SearchResponse]:
    """Search skills, best match first. At most 30 at once; `X-Limit-Clamped` is set if limited.

    If nothing matches, typos are corrected and then any of the words is enough; `match` says so.
    """
    size, headers = clamp(limit, MAX_RESULTS)
    visible = await visible_to(visitor_of(request))
    query = SkillQuery(
        text=q,
        tag=category,
        can=read_capabilities(can),
        cannot=read_capabilities(cannot),
        limit=size,
        visible=visible,
        is_forgiving=True,
        **start_at(cursor, offset or (page - 1) * size),
    )
    found = await read_page(request, query)
    answer = SearchResponse(
        results=[skill_item(hit) for hit in found.hits],
        total=found.total,
        match=match_of(found),
        searched_for=found.searched_for or None,
        pagination=paging(query, found),
        next_cursor=next_cursor(found),
    )
    return Response(answer, headers=headers)


@operation(is_listed=True)
async def list_skills(
    request: WebRequest,
    q: SearchText = "",
    search: SearchText = "",
    namespace: SearchText = "",
    tier: FromQuery[TrustTier | None] = None,
    tag: SearchText = "",
    category: SearchText = "",
    labels: SearchText = "",
    agent: SearchText = "",
    can: SearchText = "",
    cannot: SearchText = "",
    sort: FromQuery[SkillSort | None] = None,
    facets: FromQuery[bool] = False,
    page: PageNumber = 1,
    limit: Limit = 25,
    cursor: FromQuery[str | None] = None,
) -> Response[SkillListResponse]:
    """List published skills, with filters and totals. At most 100 at once.

    Follow `nextCursor` to read the whole list: no skill is missed or comes twice, whatever changes
    between two pages. `page` jumps to a page; the order is kept only if you read page after page.
    Without `sort`, a search has the best match first and a list the most installed skill. `can` and
    `cannot` name capabilities, separated by commas. If nothing matches `q`, typos are corrected and
    then any of the words is enough; `match` says so. `search` is another name of `q`; `category`
    and `labels` are other names of `tag`.
    """
    q, tag = q or search, tag or category or labels
    size, headers = clamp(limit, _MAX_PAGE_SIZE)
    query = SkillQuery(
        text=q,
        namespace=namespace,
        tier=tier or "",
        tag=tag,
        agent=agent,
        can=read_capabilities(can),
        cannot=read_capabilities(cannot),
        sort=sort or (SkillSort.RELEVANCE if q.strip() else SkillSort.INSTALLS),
        limit=size,
        with_facets=facets,
        is_forgiving=True,
        visible=await visible_to(visitor_of(request)),
        **start_at(cursor, (page - 1) * size),
    )
    found = await read_page(request, query)
    answer = SkillListResponse(
        skills=[skill_item(hit) for hit in found.hits],
        match=match_of(found),
        searched_for=found.searched_for or None,
        pagination=paging(query, found),
        facets=found.facets,
        next_cursor=next_cursor(found),
    )
    return Response(answer, headers=headers)


@operation(is_listed=True)
async def suggest_skills(request: WebRequest, q: SearchText = "") -> Suggested:
    """Suggest skills for a partial name."""
    visible = await visible_to(visitor_of(request))
    found = await catalogue_of(request).suggest(q, visible=visible)
    return Suggested(
        suggestions=[
            {"slug": one.slug, "name": one.name, "description": one.description, "tier": one.tier}
            for one in found
        ]
    )


def read_capabilities(text: str) -> tuple[str, ...]:
    """Parse names of capabilities, separated by commas."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := set(names) - set(CAPABILITY_KINDS):
        raise InvalidInput(
            f"unknown capability {min(unknown)!r}; use some of {', '.join(CAPABILITY_KINDS)}"
        )
    return names


def match_of(found: SkillResults) -> str:
    """Return how the results match the text: exactly, corrected, or by any of its words."""
    if not found.searched_for:
        return "exact"
    return "any" if found.is_any_word else "corrected"


def skill_item(hit: SkillHit) -> SkillItem:
    owner, repo, skill = split_slug(hit.slug)
    return SkillItem(
        slug=hit.slug,
        name=hit.name,
        display_name=hit.name,
        author=hit.namespace,
        description=hit.description,
        repo_url=public_source(hit.repo_url),
        owner_slug=owner,
        repo_slug=repo,
        skill_slug=skill,
        current_version=hit.version or None,
        yanked=not hit.version,
        deprecated=Deprecated(message=hit.deprecated, use_instead=hit.use_instead or None)
        if hit.deprecated
        else None,
        cert_tier=cert_tier(hit.tier),
        trust_tier=hit.tier,
        trust_score=hit.trust_score,
        tags=hit.tags,
        agents=hit.agents,
        capabilities=hit.capabilities,
        license=hit.license,
        vskill_installs=hit.installs,
        is_private=hit.is_private,
        published_at=hit.published_at,
        updated_at=hit.updated_at,
    )


def split_slug(slug: str) -> tuple[str, str, str]:
    """Return owner, repository and skill; uploads have no repository."""
    *owner, skill = slug.split("/")
    if slug.startswith("@") or len(owner) == 1:
        return owner[0] if owner else "", "", skill
    return "/".join(owner[:-1]), owner[-1], skill


def paging(query: SkillQuery, found: SkillResults) -> Paging:
    return Paging(
        page=query.offset // query.limit + 1,
        limit=query.limit,
        total=found.total,
        total_pages=-(-found.total // query.limit),
        has_more=found.next is not None,
    )
