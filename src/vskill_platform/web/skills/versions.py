"""The versions of a skill over the API, and what changed between them."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Response
from litestar.params import FromPath, FromQuery, QueryParameter

from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.trust import TrustTier
from vskill_platform.publish.versions.diff_versions import FileChange, VersionDiff
from vskill_platform.publish.versions.list_versions import (
    SkillVersions,
    Standing,
    diff_of_skill,
    list_versions,
)
from vskill_platform.publish.versions.open_version import open_version
from vskill_platform.publish.versions.patch_text import patch_text
from vskill_platform.publish.versions.read_files import read_file, text_of
from vskill_platform.scan.manifest import MANIFEST
from vskill_platform.web.http.cursors import offset_cursor, read_offset
from vskill_platform.web.http.limits import Limit, clamp
from vskill_platform.web.http.route import operation
from vskill_platform.web.skills.certificates import cert_method, cert_tier
from vskill_platform.web.skills.search_api import find_listed
from vskill_platform.web.skills.shapes import (
    CompareAnswer,
    ComparedFile,
    DiffAnswer,
    VersionItem,
    VersionList,
)

ApiRequest = Request[Any, Any, Any]
_MAX_VERSIONS = 100
Old = Annotated[str, QueryParameter(name="from", max_length=100)]
New = Annotated[str, QueryParameter(name="to", max_length=100)]


async def show_versions(
    request: ApiRequest,
    slug: FromPath[str],
    limit: Limit = 20,
    cursor: FromQuery[str | None] = None,
) -> Response[VersionList]:
    """List the versions, the newest first; at most 100 at once."""
    skill = await find_listed(request, slug)
    size, headers = clamp(limit, _MAX_VERSIONS)
    answer = await versions_of(skill.slug, start=read_offset(cursor, 0), limit=size)
    return Response(answer, headers=headers)


@operation(also=(403,))
async def show_diff(
    request: ApiRequest, slug: FromPath[str], old: Old = "", new: New = ""
) -> DiffAnswer:
    """Say what changed from one version to another, as one text."""
    diff = await _diff(request, slug, old, new)
    kinds = [file.kind for file in diff.files]
    return DiffAnswer(
        from_=diff.old,
        to=diff.new,
        diff_summary=_in_words(*(kinds.count(kind) for kind in ("added", "removed", "changed"))),
        content_diff=patch_text(diff.files),
        gained=diff.gained,
    )


@operation(also=(403,))
async def compare_versions(
    request: ApiRequest, slug: FromPath[str], old: Old = "", new: New = ""
) -> CompareAnswer:
    """Say what changed from one version to another, file by file."""
    diff = await _diff(request, slug, old, new)
    return CompareAnswer(source="local-content", files=[_compared(file) for file in diff.files])


@operation(also=(403,))
async def show_version(
    request: ApiRequest, slug: FromPath[str], version: FromPath[str]
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
    """Return some versions of a skill, the newest first, and how many there are."""
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
    """Say what is known of a version; how far it can be trusted, of the offered one alone."""
    row = listed.versions[place]
    version = row.version
    before = listed.versions[place + 1].version if place + 1 < len(listed.versions) else None
    is_offered = row.standing is Standing.LATEST
    is_reviewed = row.approved_by is not None
    is_down = row.standing in {Standing.BLOCKED, Standing.TAKEN_DOWN}
    tier = TrustTier.BLOCKED if is_down else TrustTier.SCANNED
    tier = listed.trust.tier if is_offered else tier
    return VersionItem(
        version=version.version,
        standing=row.standing,
        reason=row.reason,
        content_hash=version.digest,
        archive_sha256=version.archive_sha256,
        git_sha=version.commit_sha,
        created_at=version.published_at,
        cert_tier=cert_tier(tier),
        cert_score=listed.trust.score if is_offered else None,
        cert_method=cert_method(tier, is_reviewed=is_reviewed) if is_offered else "",
        approved_by=row.approved_by,
        diff_summary=_sum_up(before, version),
    )


def _sum_up(old: SkillVersion | None, new: SkillVersion) -> str:
    """Say what a version brought, by the names and digests of its files alone."""
    if old is None:
        return "the first version"
    before = {file.path: file for file in old.files}
    after = {file.path: file for file in new.files}
    changed = sum(before[path] != after[path] for path in before.keys() & after.keys())
    return _in_words(len(after.keys() - before.keys()), len(before.keys() - after.keys()), changed)


def _in_words(added: int, removed: int, changed: int) -> str:
    if not (added or removed or changed):
        return "nothing changed"
    return f"{added} added, {removed} removed, {changed} changed"


async def _diff(request: ApiRequest, slug: str, old: str, new: str) -> VersionDiff:
    skill = await find_listed(request, slug)
    if not (old and new):
        raise InvalidInput("say which versions, such as ?from=1.0.0&to=1.0.1; versions lists them")
    try:
        return await diff_of_skill(skill.slug, old, new)
    except NotFound as error:  # the skill is there: it is the version that cannot be meant
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
