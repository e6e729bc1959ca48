"""The versions of a skill and the diffs between them, as pages and over the API."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Template

from vskill_platform.base.show_text import count_of
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.skill import SkillVersion, new_capabilities
from vskill_platform.model.trust import TrustTier
from vskill_platform.publish.versions.diff_versions import (
    FileChange,
    VersionDiff,
    patch_text,
)
from vskill_platform.publish.versions.find_version import (
    SkillVersions,
    VersionRow,
    VersionStatus,
    diff_of_skill,
    list_versions,
    open_version,
)
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.scan.read.manifest import MANIFEST
from vskill_platform.web.http.api_types import Limit, clamp, offset_cursor, read_offset
from vskill_platform.web.http.requests import WebRequest, whole_number
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.skills.capabilities import Capability, group_capabilities
from vskill_platform.web.skills.open_skill import OpenSkill, skill_page
from vskill_platform.web.skills.shapes import (
    ComparedFile,
    CompareResponse,
    DiffResponse,
    VersionItem,
    VersionList,
    cert_method,
    cert_tier,
    deprecated_json,
)
from vskill_platform.web.skills.slugs import find_listed

_MAX_VERSIONS = 100
#: How many versions a page shows.
PAGE_SIZE = 30
_CHANGELOGS = frozenset({"changelog.md", "changelog", "changes.md", "history.md"})
Old = Annotated[str, QueryParameter(name="from", max_length=100)]
New = Annotated[str, QueryParameter(name="to", max_length=100)]


class VersionChange(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a version compared with the one before it."""

    #: None for the first version.
    since: str | None
    files: str
    #: None if the capabilities of either version were not recorded.
    gained: tuple[Capability, ...] | None
    lost: tuple[Capability, ...] | None


async def skill_versions(request: WebRequest, opened: OpenSkill) -> Template:
    slug = opened.skill.slug
    rows = (await list_versions(slug)).versions
    pages = max(-(-len(rows) // PAGE_SIZE), 1)
    page = min(max(whole_number(request.query_params.get("page", "")), 1), pages)
    start = (page - 1) * PAGE_SIZE
    shown = rows[start : start + PAGE_SIZE]
    at = opened.version_in_links
    return await skill_page(
        request,
        opened,
        "pages/skill_versions.html",
        "versions",
        changelog=_find_changelog(opened.version),
        shown=shown,
        changes={row.version.number: _change(rows, start + n) for n, row in enumerate(shown)},
        page=page,
        pages=pages,
        page_url=lambda number: skill_url(slug, "versions", version=at, page=number),
    )


def _find_changelog(version: SkillVersion) -> str:
    """Return the path of the publisher's changelog in a version; empty if there is none."""
    return next((file.path for file in version.files if file.path.lower() in _CHANGELOGS), "")


def _change(rows: tuple[VersionRow, ...], place: int) -> VersionChange:
    new = rows[place].version
    old = rows[place + 1].version if place + 1 < len(rows) else None
    before, after = old.capabilities if old else {}, new.capabilities
    is_known = before is not None and after is not None
    return VersionChange(
        since=old.version if old else None,
        files=_files_in_words(*_count_changes(old, new)),
        gained=group_capabilities(new_capabilities(before or {}, after or {}))
        if is_known
        else None,
        lost=group_capabilities(new_capabilities(after or {}, before or {})) if is_known else None,
    )


@operation(also=(403, 423, 424))
async def show_versions(
    request: WebRequest,
    slug: FromPath[str],
    limit: Limit = 20,
    cursor: FromQuery[str | None] = None,
) -> Response[VersionList]:
    """List the versions, newest first. At most 100 at once."""
    skill = await find_listed(request, slug)
    size, headers = clamp(limit, _MAX_VERSIONS)
    response = await versions_of(skill.slug, start=read_offset(cursor, 0), limit=size)
    return Response(response, headers=headers)


@operation(also=(403,))
async def show_diff(
    request: WebRequest, slug: FromPath[str], old: Old = "", new: New = ""
) -> DiffResponse:
    """Show the changes between two versions as one text."""
    diff = await _diff(request, slug, old, new)
    kinds = [file.kind for file in diff.files]
    return DiffResponse(
        from_=diff.old,
        to=diff.new,
        diff_summary=_in_words(*(kinds.count(kind) for kind in ("added", "removed", "changed"))),
        content_diff=patch_text(diff.files),
        gained=diff.gained,
    )


@operation(also=(403,))
async def compare_versions(
    request: WebRequest, slug: FromPath[str], old: Old = "", new: New = ""
) -> CompareResponse:
    """Show the changes between two versions, file by file."""
    diff = await _diff(request, slug, old, new)
    return CompareResponse(source="local-content", files=[_compared(file) for file in diff.files])


@operation(also=(403, 423, 424))
async def show_version(
    request: WebRequest, slug: FromPath[str], version: FromPath[str]
) -> VersionItem:
    """Show one version with its SKILL.md."""
    skill = await find_listed(request, slug)
    listed = await list_versions(skill.slug)
    places = [place for place, row in enumerate(listed.versions) if row.version.version == version]
    if not places:
        raise NotFound(f"{skill.slug} has no version {version}")
    found = (await open_version(skill, version)).version
    return msgspec.structs.replace(_item(listed, places[0]), content=await read_manifest(found))


async def versions_of(slug: str, *, start: int = 0, limit: int = _MAX_VERSIONS) -> VersionList:
    """Return a page of the versions of a skill, newest first, and their number."""
    listed = await list_versions(slug)
    total = len(listed.versions)
    chosen = range(start, min(start + limit, total))
    return VersionList(
        versions=[_item(listed, place) for place in chosen],
        count=total,
        next_cursor=offset_cursor(start, len(chosen), total),
    )


async def read_manifest(version: SkillVersion) -> str:
    """Return the SKILL.md of a version."""
    return text_of(await read_file(version, MANIFEST)) or ""


def _item(listed: SkillVersions, place: int) -> VersionItem:
    """Describe a version; only the latest one has a trust score."""
    row = listed.versions[place]
    version = row.version
    before = listed.versions[place + 1].version if place + 1 < len(listed.versions) else None
    is_latest = row.status is VersionStatus.LATEST
    is_reviewed = row.approved_by is not None
    is_down = row.status in {VersionStatus.BLOCKED, VersionStatus.TAKEN_DOWN}
    tier = TrustTier.BLOCKED if is_down else TrustTier.SCANNED
    tier = listed.trust.tier if is_latest else tier
    return VersionItem(
        version=version.version,
        standing=row.status,
        reason=row.reason,
        content_hash=version.digest,
        archive_sha256=version.archive_sha256,
        git_sha=version.commit_sha,
        created_at=version.published_at,
        cert_tier=cert_tier(tier),
        cert_score=listed.trust.score if is_latest else None,
        cert_method=cert_method(tier, is_reviewed=is_reviewed) if is_latest else "",
        approved_by=row.approved_by,
        diff_summary=_sum_up(before, version),
        verdict=row.verdict,
        capabilities=version.capabilities,
        file_count=len(version.files),
        deprecated=deprecated_json(row.deprecation),
    )


def _sum_up(old: SkillVersion | None, new: SkillVersion) -> str:
    """Summarize the changed files of a version, by path and digest."""
    return _in_words(*_count_changes(old, new)) if old else "first version"


def _count_changes(old: SkillVersion | None, new: SkillVersion) -> tuple[int, int, int]:
    """Return how many files were added, removed and changed."""
    before = {file.path: file for file in old.files} if old else {}
    after = {file.path: file for file in new.files}
    changed = sum(before[path] != after[path] for path in before.keys() & after.keys())
    return len(after.keys() - before.keys()), len(before.keys() - after.keys()), changed


def _files_in_words(added: int, removed: int, changed: int) -> str:
    counts = {"added": added, "removed": removed, "changed": changed}
    parts = [f"{count_of(count, 'file')} {word}" for word, count in counts.items() if count]
    return f"{', '.join(parts) or 'no files changed'}."


def _in_words(added: int, removed: int, changed: int) -> str:
    if not (added or removed or changed):
        return "no changes"
    return f"{added} added, {removed} removed, {changed} changed"


async def _diff(request: WebRequest, slug: str, old: str, new: str) -> VersionDiff:
    skill = await find_listed(request, slug)
    if not (old and new):
        raise InvalidInput("set both versions, such as ?from=1.0.0&to=1.0.1")
    try:
        return await diff_of_skill(skill.slug, old, new)
    except NotFound as error:  # the skill exists, so the version is wrong
        raise InvalidInput(str(error)) from error


def _compared(file: FileChange) -> ComparedFile:
    return ComparedFile(
        filename=file.path,
        status={"changed": "modified"}.get(file.kind, file.kind),
        additions=sum(line.startswith("+") for line in file.lines),
        deletions=sum(line.startswith("-") for line in file.lines),
        patch="\n".join(file.lines),
        note=file.note,
    )
