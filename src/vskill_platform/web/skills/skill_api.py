"""One skill over the API: details, files, download, yank, deprecation and visibility."""

import base64
from typing import Annotated, Any

from litestar import Response
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_302_FOUND, HTTP_404_NOT_FOUND

from vskill_platform.access.namespaces import acts_as_staff, check_may_manage
from vskill_platform.errors import NotFound
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.rights import Right
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.source import public_source
from vskill_platform.publish.moderation.deprecate import deprecate, undeprecate
from vskill_platform.publish.moderation.yank_version import unyank_version, yank_version
from vskill_platform.publish.versions.find_version import FoundVersion, open_version
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.publish.versions.trust_of_skill import trust_of_skill
from vskill_platform.publish.versions.version_files import read_file, text_of
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.scan_store import read_report_marks_on
from vskill_platform.web.http.api_types import VersionName
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.badge import skill_badge
from vskill_platform.web.skills.change_shapes import (
    DeprecateRequest,
    UndeprecateRequest,
    Visibility,
    VisibilityRequest,
    YankRequest,
)
from vskill_platform.web.skills.downloads import skill_download
from vskill_platform.web.skills.open_skill import OpenSkill
from vskill_platform.web.skills.shapes import (
    FileContent,
    FileItem,
    FileList,
    SkillDetail,
    SkillResponse,
    VersionList,
    cert_tier,
    deprecated_json,
)
from vskill_platform.web.skills.slugs import find_listed, find_skill, find_successor, slug_of
from vskill_platform.web.skills.versions import read_manifest, versions_of

_PICTURE = "image/svg+xml"


@operation(also=(403, 423, 424))
async def show_skill(
    request: WebRequest, slug: FromPath[str], version: VersionName = None
) -> SkillResponse:
    """Show a skill with the SKILL.md of its latest version, or of `version`."""
    skill = await find_listed(request, slug, version)
    return SkillResponse(skill=await _detail(skill, await open_version(skill, version)))


@operation(also=(403, 423, 424))
async def show_files(
    request: WebRequest,
    slug: FromPath[str],
    version: VersionName = None,
    path: Annotated[str, QueryParameter(max_length=500)] = "",
) -> FileList | FileContent:
    """List the files of a version, or show the one at `path`."""
    found = (await open_version(await find_listed(request, slug, version), version)).version
    if not path:
        files = [
            FileItem(
                path=file.path, size=file.size, sha256=file.sha256,
                is_executable=file.is_executable,
            )
            for file in found.files
        ]  # fmt: skip
        return FileList(version=found.version, digest=found.digest, files=files)
    raw = await read_file(found, path)
    text = text_of(raw)
    meant = next(file for file in found.files if file.path == path)
    return FileContent(
        path=path,
        size=meant.size,
        sha256=meant.sha256,
        encoding="utf-8" if text is not None else "base64",
        content=text if text is not None else base64.b64encode(raw).decode(),
    )


@operation(
    also=(403, 423, 424),
    media_type="application/gzip",
    responses={
        HTTP_302_FOUND: ResponseSpec(
            str,
            media_type="text/plain",
            description="The archive is at Location for a few minutes, if the operator allows it",
            generate_examples=False,
        )
    },
)
async def download_skill(
    request: WebRequest, slug: FromPath[str], version: VersionName = None
) -> Response[Any]:
    """Download the archive of a version, byte for byte as it was checked."""
    found = await open_version(await find_listed(request, slug, version), version)
    return await skill_download(
        request, OpenSkill(found=found, is_named=version is not None, path="")
    )


@operation(
    media_type=_PICTURE,
    responses={
        HTTP_404_NOT_FOUND: ResponseSpec(
            str, media_type=_PICTURE, description="A badge that says so", generate_examples=False
        )
    },
)
async def show_badge(request: WebRequest, slug: FromPath[str]) -> Response[Any]:
    """Show the trust badge of a skill."""
    try:
        skill: PublishedSkill | None = await find_skill(request, slug_of(slug))
    except NotFound:
        skill = None
    return await skill_badge(request, skill)


async def yank_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[YankRequest]
) -> VersionList:
    """Yank a version. It stays installable by exact version."""
    skill, visitor = await _own(request, slug), visitor_of(request)
    await yank_version(
        skill.slug,
        data.version,
        reason=data.reason,
        actor=visitor.name,
        is_by_staff=await acts_as_staff(visitor, skill),
    )
    return await versions_of(skill.slug)


async def unyank_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[YankRequest]
) -> VersionList:
    """Make a yanked version available again."""
    skill, visitor = await _own(request, slug), visitor_of(request)
    await unyank_version(
        skill.slug,
        data.version,
        reason=data.reason,
        actor=visitor.name,
        is_by_staff=visitor.may(Right.BLOCK, get_settings()),
    )
    return await versions_of(skill.slug)


async def deprecate_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[DeprecateRequest]
) -> VersionList:
    """Deprecate a skill or a version: it stays available, with a warning."""
    skill = await _own(request, slug)
    await deprecate(
        skill.slug,
        data.version,
        message=data.message,
        use=await find_successor(visitor_of(request), skill, data.use_instead),
        actor=visitor_of(request).name,
    )
    return await versions_of(skill.slug)


async def undeprecate_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[UndeprecateRequest]
) -> VersionList:
    """End the deprecation of a skill or a version."""
    skill = await _own(request, slug)
    await undeprecate(skill.slug, data.version, actor=visitor_of(request).name)
    return await versions_of(skill.slug)


async def change_visibility(
    request: WebRequest, slug: FromPath[str], data: JSONBody[VisibilityRequest]
) -> Visibility:
    """Set the visibility of a skill: private (namespace members) or public."""
    skill = await _own(request, slug)
    changed = await set_visibility(
        skill.slug,
        is_private=data.private,
        actor=visitor_of(request).name,
        reason=data.reason,
    )
    return Visibility(slug=changed.slug, private=changed.is_private)


async def _own(request: WebRequest, slug: str) -> PublishedSkill:
    skill = await find_skill(request, slug_of(slug))
    await check_may_manage(visitor_of(request), skill)
    return skill


def _content(version: SkillVersion) -> tuple[str, str]:
    return version.submission_id, version.digest


async def _detail(skill: PublishedSkill, found: FoundVersion) -> SkillDetail:
    version, trust = found.version, await trust_of_skill(skill)
    report = (await read_report_marks_on([_content(version)])).get(_content(version))
    return SkillDetail(
        slug=skill.slug,
        name=skill.name,
        author=namespace_of_skill(skill),
        description=skill.description,
        repo_url=public_source(skill.repo_url),
        skill_path=skill.skill_path,
        current_version=skill.version or None,
        version=version.version,
        sha=version.digest,
        archive_sha256=version.archive_sha256,
        commit_sha=version.commit_sha,
        license=skill.license,
        content=await read_manifest(version),
        cert_tier=cert_tier(trust.tier),
        cert_score=trust.score,
        trust_tier=trust.tier,
        trust_score=trust.score,
        trust=trust.words,
        provenance_verified=version.commit_sha is not None,
        vskill_installs=(await get_installs(skill.slug)).total,
        is_private=skill.is_private,
        tags=skill.tags,
        agents=skill.agents,
        published_at=skill.published_at,
        updated_at=version.published_at,
        yanked=found.yank.reason if found.yank else None,
        deprecated=deprecated_json(found.deprecation),
        verdict=report.verdict if report else None,
        capabilities=version.capabilities,
        file_count=len(version.files),
    )
