"""ClawHub v1, reading: search, lists, skills, versions, files and archives."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, QueryParameter

from vskill_platform.catalogue.query import SkillHit, SkillQuery, SkillSort
from vskill_platform.errors import NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.find_version import (
    VersionStatus,
    find_version,
    list_versions,
    open_version,
)
from vskill_platform.stores.version_store import get_version, get_versions
from vskill_platform.web.http.api_types import Limit, offset_cursor, read_offset
from vskill_platform.web.http.list_cursors import next_cursor, start_at
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.marketplace.search_api import paging, skill_item
from vskill_platform.web.protocols.artifacts import artifact_path, send_artifact
from vskill_platform.web.protocols.clawhub.find import (
    NoSkill,
    find_owned_skill,
    find_refused,
    owner_json,
)
from vskill_platform.web.protocols.clawhub.fingerprint import find_match
from vskill_platform.web.protocols.clawhub.shapes import (
    LATEST,
    Object,
    listed_json,
    refused_json,
    result_json,
    skill_json,
    version_json,
)
from vskill_platform.web.protocols.clawhub.trust import (
    assess_skill,
    assess_version,
    moderation_json,
    security_json,
)
from vskill_platform.web.skills.clawhub_names import split_slug
from vskill_platform.web.skills.downloads import skill_raw_file
from vskill_platform.web.skills.open_skill import OpenSkill
from vskill_platform.web.skills.readme_page import public_address

QueryText = Annotated[str, QueryParameter(max_length=300)]
Owner = Annotated[str, QueryParameter(name="ownerHandle", max_length=300)]
Tag = Annotated[str, QueryParameter(max_length=100)]
Hash = Annotated[str, QueryParameter(name="hash", max_length=100)]
_MAX_RESULTS = 100
_SORTS = {
    "createdAt": SkillSort.NEWEST,
    "newest": SkillSort.NEWEST,
    "updated": SkillSort.UPDATED,
    "downloads": SkillSort.INSTALLS,
    "installs": SkillSort.INSTALLS,
    "trending": SkillSort.INSTALLS,
    "name": SkillSort.NAME,
}
#: How many search results a response examines for names with a prefix.
_LOOKED_THROUGH = 1_000


async def well_known(request: WebRequest) -> Object:
    """Tell ClawHub clients where the registry is."""
    address = public_address(request)
    return {"apiBase": address, "authBase": address}


async def search(
    request: WebRequest,
    q: QueryText = "",
    limit: Limit = 25,
    mode: FromQuery[Literal["exact", ""]] = "",
) -> Object:
    """Search skills, best match first; with `mode=exact` only skills with this name."""
    query = SkillQuery(
        text=q,
        limit=min(limit, _MAX_RESULTS),
        visible=await visible_to(visitor_of(request)),
    )
    hits = (await catalogue_of(request).search_skills(query)).hits
    if mode:
        hits = [hit for hit in hits if hit.name == q.strip()]
    return {"results": [result_json(request, place, hit) for place, hit in enumerate(hits)]}


async def trending(request: WebRequest, limit: Limit = 20) -> Object:
    """List the skills with the most installs."""
    query = SkillQuery(
        sort=SkillSort.INSTALLS,
        limit=min(limit, _MAX_RESULTS),
        visible=await visible_to(visitor_of(request)),
    )
    hits = (await catalogue_of(request).search_skills(query)).hits
    return {"items": [result_json(request, place, hit) for place, hit in enumerate(hits)]}


async def show_list(
    request: WebRequest,
    limit: Limit = 25,
    sort: Tag = "updated",
    prefix: QueryText = "",
    cursor: FromQuery[str | None] = None,
) -> Object:
    """List skills; the response also contains the fields of our own list."""
    size = min(limit, _MAX_RESULTS)
    if prefix:
        return await _names_with(request, prefix.strip(), cursor, size)
    query = SkillQuery(
        sort=_SORTS.get(sort, SkillSort.RELEVANCE),
        limit=size,
        visible=await visible_to(visitor_of(request)),
        **start_at(cursor),
    )
    found = await catalogue_of(request).search_skills(query)
    return {
        "items": [listed_json(hit) for hit in found.hits],
        "nextCursor": next_cursor(found),
        "skills": [skill_item(hit) for hit in found.hits],
        "pagination": paging(query, found),
    }


async def show_skill(request: WebRequest, name: FromPath[str], owner: Owner = "") -> Object:
    """Show a skill and its moderation, even of a refused skill, with the reasons."""
    try:
        skill = await find_owned_skill(request, name, owner)
    except NoSkill:
        return await refused_json(await find_refused(request, name, owner))
    owned = split_slug(skill.slug)
    latest = None if skill.down or skill.latest_number is None else await _latest(skill)
    found = await assess_skill(skill)
    return {
        "skill": await skill_json(skill, latest),
        "latestVersion": version_json(skill, latest) if latest else None,
        "metadata": None,
        "owner": owner_json(owned),
        "moderation": moderation_json(found),
    }


async def show_versions(
    request: WebRequest,
    name: FromPath[str],
    owner: Owner = "",
    limit: Limit = 25,
    cursor: FromQuery[str | None] = None,
) -> Object:
    """List the available versions, newest first."""
    skill = await find_owned_skill(request, name, owner)
    rows = (await list_versions(skill.slug)).versions
    shown = [row for row in rows if row.status in {VersionStatus.LATEST, VersionStatus.AVAILABLE}]
    start = read_offset(cursor, 0)
    page = shown[start : start + min(limit, _MAX_RESULTS)]
    return {
        "items": [version_json(skill, row.version) for row in page],
        "nextCursor": offset_cursor(start, len(page), len(shown)),
    }


async def show_version(
    request: WebRequest, name: FromPath[str], version: FromPath[str], owner: Owner = ""
) -> Object:
    """Show one version with its files and findings."""
    skill = await find_owned_skill(request, name, owner, version)
    found = (await find_version(skill.slug, version)).version
    files = [
        {"path": file.path, "size": file.size, "sha256": file.sha256, "contentType": None}
        for file in found.files
    ]
    security = security_json(await assess_version(skill, found))
    return {
        "version": {**version_json(skill, found), "files": files, "security": security},
        "skill": {"slug": split_slug(skill.slug).name, "displayName": skill.name},
    }


async def send_file(
    request: WebRequest,
    name: FromPath[str],
    path: Annotated[str, QueryParameter(max_length=500)] = "",
    owner: Owner = "",
    version: Tag = "",
    tag: Tag = "",
) -> Response[Any]:
    """Send one file of a version, exactly as it was checked."""
    chosen = chosen_version(version, tag)
    skill = await find_owned_skill(request, name, owner, chosen)
    found = await open_version(skill, chosen)
    return await skill_raw_file(request, OpenSkill(found=found, is_named=bool(version), path=path))


async def download(
    request: WebRequest, slug: QueryText = "", owner: Owner = "", version: Tag = "", tag: Tag = ""
) -> Response[Any]:
    """Send a version as a zip."""
    chosen = chosen_version(version, tag)
    skill = await find_owned_skill(request, slug, owner, chosen)
    found = await find_version(skill.slug, chosen)
    path = artifact_path(skill.slug, found.version.version)
    return await send_artifact(request, path.removeprefix("/artifacts"))


async def resolve(
    request: WebRequest, slug: QueryText = "", owner: Owner = "", wanted: Hash = ""
) -> Object:
    """Return the version that contains the files of a folder, given the folder's fingerprint."""
    skill = await find_owned_skill(request, slug, owner)
    match = None
    if not skill.down:
        match = await find_match(reversed(await get_versions(skill.slug)), wanted.lower())
    has_latest = bool(skill.version) and not skill.down
    return {
        "match": {"version": match.version} if match else None,
        "latestVersion": {"version": skill.version} if has_latest else None,
    }


def chosen_version(version: str, tag: str) -> str | None:
    """Return the version to look up; None for the latest, which is the only tag."""
    if version:
        return version
    if tag and tag != LATEST:
        raise NotFound(f"there is no tag {tag!r}: the only tag is {LATEST}")
    return None


async def _names_with(request: WebRequest, prefix: str, cursor: str | None, size: int) -> Object:
    """Return skills whose names start with a text; the search also finds others."""
    search = catalogue_of(request).search_skills
    visible = await visible_to(visitor_of(request))
    found: list[SkillHit] = []
    for _ in range(_LOOKED_THROUGH // _MAX_RESULTS):
        query = SkillQuery(
            text=prefix,
            sort=SkillSort.NAME,
            limit=_MAX_RESULTS,
            visible=visible,
            **start_at(cursor),
        )
        results = await search(query)
        fitting = [at for at, hit in enumerate(results.hits) if hit.name.startswith(prefix)]
        taken = fitting[: size - len(found)]
        found += [results.hits[at] for at in taken]
        is_full = len(found) == size
        if is_full and taken:  # the next page may start within this one
            results = await search(msgspec.structs.replace(query, limit=taken[-1] + 1))
        cursor = next_cursor(results)
        if is_full or cursor is None:
            break
    return {"items": [listed_json(hit) for hit in found], "nextCursor": cursor}


async def _latest(skill: PublishedSkill) -> SkillVersion | None:
    return await get_version(skill.slug, skill.latest_number) if skill.latest_number else None
