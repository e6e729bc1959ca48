"""Requests of the original vskill client that are not in our own API, with the fields it reads."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Redirect
from litestar.status_codes import HTTP_204_NO_CONTENT, HTTP_302_FOUND

from vskill_platform.catalogue.query import SkillQuery, SkillSort
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.find_version import VersionStatus
from vskill_platform.web.http.api_types import (
    Limit,
    Offset,
    PageNumber,
    Shape,
    Text,
    clamp,
)
from vskill_platform.web.http.headers import NO_STORE_HEADER
from vskill_platform.web.http.list_cursors import next_cursor, start_at
from vskill_platform.web.http.numbered_pages import read_page
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.search_api import skill_item
from vskill_platform.web.skills.badge import skill_badge
from vskill_platform.web.skills.shapes import SkillItem, VersionList, cert_tier
from vskill_platform.web.skills.slugs import SKILL_ID, find_listed, find_skill, slug_of
from vskill_platform.web.skills.versions import versions_of

_MAX_ROWS = 100
_BADGE = ".svg"


class NamedSkill(Shape, frozen=True, kw_only=True):
    name: Text
    author: Text = ""


class Lookup(Shape, frozen=True, kw_only=True):
    entries: Annotated[list[NamedSkill], msgspec.Meta(max_length=50)]


class LookedUp(Shape, frozen=True, kw_only=True):
    name: str
    author: str
    #: Null if there is no such skill, or if several skills have this name.
    uuid: str | None
    slug: str | None


class LookupResponse(Shape, frozen=True, kw_only=True):
    results: list[LookedUp]


class AuthorItem(Shape, frozen=True, kw_only=True):
    name: str
    slug: str
    skill_count: int


class AuthorList(Shape, frozen=True, kw_only=True):
    authors: list[AuthorItem]
    #: The same list under its other name.
    publishers: list[AuthorItem]
    total: int


class AuthorResponse(Shape, frozen=True, kw_only=True):
    author: AuthorItem
    publisher: AuthorItem
    skills: list[SkillItem]
    total: int
    next_cursor: str | None


class SkillAuditItem(Shape, frozen=True, kw_only=True):
    skill_name: str
    slug: str
    version: str | None
    cert_tier: str
    trust_score: int
    audited_at: datetime
    report_url: str


class SkillAuditList(Shape, frozen=True, kw_only=True):
    audits: list[SkillAuditItem]
    total: int
    next_cursor: str | None


@operation(is_listed=True, changes=False)
async def lookup_by_name(request: WebRequest, data: JSONBody[Lookup]) -> LookupResponse:
    """Find the slugs of up to 50 skills by name and author."""
    return LookupResponse(results=[await _look_up(request, entry) for entry in data.entries])


async def _look_up(request: WebRequest, entry: NamedSkill) -> LookedUp:
    query = SkillQuery(
        text=entry.name, namespace=entry.author, visible=await visible_to(visitor_of(request))
    )
    hits = (await catalogue_of(request).search_skills(query)).hits if entry.name else []
    same = [hit.slug for hit in hits if hit.name == entry.name]
    slug = same[0] if len(same) == 1 else None
    uuid = f"{SKILL_ID}{slug}" if slug else None
    return LookedUp(name=entry.name, author=entry.author, uuid=uuid, slug=slug)


async def check_source(
    request: WebRequest,
    url: Annotated[str, QueryParameter(max_length=500)] = "",
    skill: Annotated[str, QueryParameter(max_length=200)] = "",
) -> dict[str, Any]:
    """Return the skills that are published from a repository."""
    if not url:
        raise InvalidInput("give the URL of a repository")
    repo = url.strip().rstrip("/").removesuffix(".git").lower()
    repo = repo if "://" in repo else f"https://github.com/{repo}"
    query = SkillQuery(
        text=skill or repo.rpartition("/")[2],
        limit=_MAX_ROWS,
        visible=await visible_to(visitor_of(request)),
    )
    found = (await catalogue_of(request).search_skills(query)).hits
    items = [
        skill_item(hit)
        for hit in found
        if hit.repo_url.lower() == repo and (not skill or hit.name == skill)
    ]
    return {"url": repo, "exists": bool(items), "published": bool(items), "skills": items}


@operation(is_listed=True)
async def list_authors(
    request: WebRequest, limit: Limit = 50, offset: Offset = 0
) -> Response[AuthorList]:
    """List the namespaces with most skills."""
    size, headers = clamp(limit, _MAX_ROWS)
    counted = await _count_authors(request)
    items = [_author(name, count) for name, count in counted[offset : offset + size]]
    response = AuthorList(authors=items, publishers=items, total=len(counted))
    return Response(response, headers=headers)


@operation(is_listed=True)
async def show_author(
    request: WebRequest,
    name: FromPath[str],
    limit: Limit = 25,
    page: PageNumber = 1,
    cursor: FromQuery[str | None] = None,
) -> Response[AuthorResponse]:
    """List the skills of one namespace."""
    size, headers = clamp(limit, _MAX_ROWS)
    namespace = name.strip("/").lower()
    query = SkillQuery(
        namespace=namespace,
        limit=size,
        visible=await visible_to(visitor_of(request)),
        **start_at(cursor, (page - 1) * size),
    )
    found = await read_page(request, query)
    if not found.total:
        raise NotFound(f"nobody has published skills as {namespace!r}")
    author = _author(namespace, found.total)
    response = AuthorResponse(
        author=author,
        publisher=author,
        skills=[skill_item(hit) for hit in found.hits],
        total=found.total,
        next_cursor=next_cursor(found),
    )
    return Response(response, headers=headers)


@operation(is_listed=True)
async def list_audits(
    request: WebRequest, limit: Limit = 50, cursor: FromQuery[str | None] = None
) -> Response[SkillAuditList]:
    """List the results of the latest checks of published skills."""
    size, headers = clamp(limit, _MAX_ROWS)
    query = SkillQuery(
        sort=SkillSort.UPDATED,
        limit=size,
        visible=await visible_to(visitor_of(request)),
        **start_at(cursor),
    )
    found = await catalogue_of(request).search_skills(query)
    audits = [
        SkillAuditItem(
            skill_name=hit.name,
            slug=hit.slug,
            version=hit.version or None,
            cert_tier=cert_tier(hit.tier),
            trust_score=hit.trust_score,
            audited_at=hit.updated_at,
            report_url=skill_url(hit.slug, "security"),
        )
        for hit in found.hits
    ]
    response = SkillAuditList(audits=audits, total=found.total, next_cursor=next_cursor(found))
    return Response(response, headers=headers)


async def show_package(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Show all versions of a skill (`/history`), or the one to install (`/latest`)."""
    slug, _, part = address.strip("/").rpartition("/")
    if not slug or part not in {"history", "latest"}:
        raise NotFound("the path is /api/v1/packages/OWNER/REPO/SKILL/history or /latest")
    skill = await find_listed(request, slug)
    listed: VersionList = await versions_of(skill.slug)
    if part == "history":
        response = {"slug": skill.slug, "versions": listed.versions, "count": listed.count}
        return Response(response)
    latest = [item for item in listed.versions if item.standing == VersionStatus.LATEST]
    if not latest:
        raise NotFound(f"every version of {skill.slug} is yanked")
    return Response(latest[0])


async def show_badges(request: WebRequest, address: FromPath[str]) -> Response[Any]:
    """Show the badge of a skill: `SLUG.svg`, or with a kind or version, `SLUG/trust.svg`."""
    path = address.strip("/")
    slug, _, last = path.rpartition("/")
    if last == "all.json":
        skill = await find_listed(request, slug)
        base = f"/api/v1/badges/{skill.slug}"
        return Response({"slug": skill.slug, "badges": {"trust": f"{base}/trust{_BADGE}"}})
    if not last.endswith(_BADGE):
        raise NotFound("the path of a badge ends in .svg")
    return await skill_badge(request, await _badge_skill(request, path.removesuffix(_BADGE), slug))


async def _badge_skill(request: WebRequest, whole: str, shorter: str) -> PublishedSkill | None:
    for name in (whole, shorter):
        try:
            return await find_skill(request, slug_of(name)) if name else None
        except NotFound:
            continue
    return None


@operation(status=HTTP_204_NO_CONTENT, changes=False)
async def ignore_telemetry(kind: FromPath[str]) -> None:
    """Accept the telemetry of the client's studio without storing it."""


async def legacy_redirect(request: WebRequest, slug: FromPath[str]) -> Redirect:
    """Redirect from an old slug, or from a unique name, to the page of the skill."""
    skill = await find_skill(request, slug_of(slug.strip("/")))
    # Not permanently, because a name is no longer unique when another skill gets it.
    return Redirect(skill_url(skill.slug), status_code=HTTP_302_FOUND, headers=NO_STORE_HEADER)


async def _count_authors(request: WebRequest) -> list[tuple[str, int]]:
    query = SkillQuery(limit=1, with_facets=True, visible=await visible_to(visitor_of(request)))
    found = await catalogue_of(request).search_skills(query)
    return (found.facets or {}).get("namespace", [])


def _author(name: str, count: int) -> AuthorItem:
    return AuthorItem(name=name, slug=name, skill_count=count)
