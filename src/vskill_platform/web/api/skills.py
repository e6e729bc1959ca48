"""One skill over the API: what it is, its versions and files, and how safe it is."""

import base64
from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from vskill_platform.access.manage import check_may_manage
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.access import Right
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.trust import TrustScore
from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.publish.diff_versions import FileChange
from vskill_platform.publish.find_version import FoundVersion
from vskill_platform.publish.list_versions import VersionRow, diff_of_skill, list_versions
from vskill_platform.publish.open_version import open_version
from vskill_platform.publish.read_files import read_file, text_of
from vskill_platform.publish.security_report import SecurityReport, security_report
from vskill_platform.publish.set_visibility import set_visibility
from vskill_platform.publish.trust_of_skill import trust_of_skill
from vskill_platform.publish.yank_version import unyank_version, yank_version
from vskill_platform.scan.manifest import MANIFEST
from vskill_platform.stores.external_scan_store import ExternalScan
from vskill_platform.stores.install_store import get_installs
from vskill_platform.stores.repo_health_store import view_repo_health
from vskill_platform.web.access.visitor import visitor_of
from vskill_platform.web.addresses import skill_url
from vskill_platform.web.api.cursors import offset_cursor, read_offset
from vskill_platform.web.api.find_skills import cert_tier, find_skill
from vskill_platform.web.api.skill_shapes import (
    CompareAnswer,
    ComparedFile,
    DiffAnswer,
    FileContent,
    FileItem,
    FileList,
    HealthAnswer,
    ProviderItem,
    SecurityAnswer,
    SkillAnswer,
    SkillDetail,
    VersionItem,
    VersionList,
    VisibilityRequest,
    YankRequest,
)
from vskill_platform.web.api.slug_paths import slug_of
from vskill_platform.web.api.submissions import scan_item
from vskill_platform.web.pages.skill_download import skill_download
from vskill_platform.web.pages.skill_head import OpenSkill

ApiRequest = Request[Any, Any, Any]
_READ, _ACCOUNT = {"right": Right.ANYONE}, {"right": Right.SUBMIT}
_TAGS = ["Skills"]
_MAX_VERSIONS = 100
VersionName = Annotated[str | None, QueryParameter(max_length=100)]
Limit = Annotated[int, QueryParameter(ge=1, le=_MAX_VERSIONS)]


@get("/skills/{slug:str}", opt=_READ, tags=_TAGS)
async def show_skill(
    request: ApiRequest, slug: FromPath[str], version: VersionName = None
) -> SkillAnswer:
    """Show a skill with the SKILL.md of its latest version, or of the one that is named."""
    skill = await _listed(request, slug)
    found = await open_version(skill, version)
    trust, installs = await trust_of_skill(skill), await get_installs(skill.slug)
    return SkillAnswer(skill=await _detail(skill, found, trust, installs.total))


@get("/skills/{slug:str}/versions", opt=_READ, tags=_TAGS)
async def show_versions(
    request: ApiRequest,
    slug: FromPath[str],
    limit: Limit = 20,
    cursor: FromQuery[str | None] = None,
) -> VersionList:
    """List the versions, the newest first."""
    listed = await list_versions((await _listed(request, slug)).slug)
    start = read_offset(cursor, 0)
    rows = listed.versions[start : start + limit]
    return VersionList(
        versions=[_version_item(row, listed.trust) for row in rows],
        count=len(listed.versions),
        next_cursor=offset_cursor(start, len(rows), len(listed.versions)),
    )


@get("/skills/{slug:str}/versions/diff", opt=_READ, tags=_TAGS)
async def show_diff(
    request: ApiRequest,
    slug: FromPath[str],
    old: Annotated[str, QueryParameter(name="from", max_length=100)] = "",
    new: Annotated[str, QueryParameter(name="to", max_length=100)] = "",
) -> DiffAnswer:
    """Say what changed from one version to another, as one text."""
    diff = await _diff(request, slug, old, new)
    return DiffAnswer(
        from_=diff.old,
        to=diff.new,
        diff_summary=_summary(diff.files),
        content_diff="\n".join(_patch(file) for file in diff.files),
        gained=diff.gained,
    )


@get("/skills/{slug:str}/versions/compare", opt=_READ, tags=_TAGS)
async def compare_versions(
    request: ApiRequest,
    slug: FromPath[str],
    old: Annotated[str, QueryParameter(name="from", max_length=100)] = "",
    new: Annotated[str, QueryParameter(name="to", max_length=100)] = "",
) -> CompareAnswer:
    """Say what changed from one version to another, file by file."""
    diff = await _diff(request, slug, old, new)
    return CompareAnswer(source="local-content", files=[_compared(file) for file in diff.files])


@get("/skills/{slug:str}/versions/{version:str}", opt=_READ, tags=_TAGS)
async def show_version(
    request: ApiRequest, slug: FromPath[str], version: FromPath[str]
) -> VersionItem:
    """Show one version with its SKILL.md."""
    skill = await _listed(request, slug)
    listed = await list_versions(skill.slug)
    row = next((row for row in listed.versions if row.version.version == version), None)
    if row is None:
        raise NotFound(f"{skill.slug} has no version {version}")
    found = await open_version(skill, version)
    return _version_item(row, listed.trust, content=await _manifest(found.version))


@get("/skills/{slug:str}/files", opt=_READ, tags=_TAGS)
async def show_files(
    request: ApiRequest,
    slug: FromPath[str],
    version: VersionName = None,
    path: Annotated[str, QueryParameter(max_length=500)] = "",
) -> FileList | FileContent:
    """List the files of a version, or show the one at `path`."""
    found = (await open_version(await _listed(request, slug), version)).version
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


@get("/skills/{slug:str}/download", opt=_READ, tags=_TAGS, media_type="application/gzip")
async def download_skill(
    request: ApiRequest, slug: FromPath[str], version: VersionName = None
) -> Response[Any]:
    """Send the archive of a version exactly as it was checked."""
    found = await open_version(await _listed(request, slug), version)
    return await skill_download(
        request, OpenSkill(found=found, is_named=version is not None, path="")
    )


@get("/skills/{slug:str}/security", opt=_READ, tags=_TAGS)
async def show_security(
    request: ApiRequest, slug: FromPath[str], version: VersionName = None
) -> SecurityAnswer:
    """Say what every scanner says of a version."""
    skill = await find_skill(request, slug_of(slug))
    found = await security_report((await open_version(skill, version)).version)
    own = _own_provider(found)
    others = [_provider(scan) for scan in found.scans]
    worst = next((item.status for item in (own, *others) if item.status == "FAIL"), own.status)
    return SecurityAnswer(
        overall_verdict=worst,
        providers=[own, *others],
        report_url=skill_url(skill.slug, "security"),
        version=found.version.version,
        report=scan_item(found.report) if found.report else None,
    )


@get("/skills/{slug:str}/repo-health", opt=_READ, tags=_TAGS)
async def show_repo_health(request: ApiRequest, slug: FromPath[str]) -> HealthAnswer:
    """Say whether the skill's source is still there; an outage is UNKNOWN, never GONE."""
    health = await view_repo_health((await _listed(request, slug)).slug)
    return HealthAnswer(
        status=health.status,
        checked_at=health.checked_at,
        last_commit_at=health.last_commit_at,
        has_moved=health.has_moved,
        note=health.note,
    )


@post("/skills/{slug:str}/yank", opt=_ACCOUNT, tags=_TAGS, status_code=HTTP_200_OK)
async def yank_over_api(
    request: ApiRequest, slug: FromPath[str], data: JSONBody[YankRequest]
) -> VersionList:
    """Offer a version no longer; who names it exactly still gets it."""
    skill = await _own(request, slug)
    actor = visitor_of(request).name
    await yank_version(skill.slug, data.version, reason=data.reason, actor=actor)
    return await _versions(skill.slug)


@post("/skills/{slug:str}/unyank", opt=_ACCOUNT, tags=_TAGS, status_code=HTTP_200_OK)
async def unyank_over_api(
    request: ApiRequest, slug: FromPath[str], data: JSONBody[YankRequest]
) -> VersionList:
    """Offer a yanked version again."""
    skill = await _own(request, slug)
    actor = visitor_of(request).name
    await unyank_version(skill.slug, data.version, reason=data.reason, actor=actor)
    return await _versions(skill.slug)


@post("/skills/{slug:str}/visibility", opt=_ACCOUNT, tags=_TAGS, status_code=HTTP_200_OK)
async def change_visibility(
    request: ApiRequest, slug: FromPath[str], data: JSONBody[VisibilityRequest]
) -> SkillAnswer:
    """Hide a skill from all but those of its namespace, or show it again."""
    skill = await _own(request, slug)
    changed = await set_visibility(
        skill.slug,
        is_private=data.private,
        actor=visitor_of(request).name,
        reason=data.reason,
    )
    found, trust = await open_version(changed), await trust_of_skill(changed)
    return SkillAnswer(
        skill=await _detail(changed, found, trust, (await get_installs(changed.slug)).total)
    )


async def _listed(request: ApiRequest, slug: str) -> PublishedSkill:
    """Return a skill that is offered; one that was taken down says why."""
    skill = await find_skill(request, slug_of(slug))
    if skill.down:
        raise NotFound(f"{skill.slug} was taken down: {skill.down.reason}")
    return skill


async def _own(request: ApiRequest, slug: str) -> PublishedSkill:
    skill = await find_skill(request, slug_of(slug))
    await check_may_manage(visitor_of(request), skill)
    return skill


async def _versions(slug: str) -> VersionList:
    listed = await list_versions(slug)
    rows = [_version_item(row, listed.trust) for row in listed.versions[:_MAX_VERSIONS]]
    return VersionList(versions=rows, count=len(listed.versions))


async def _detail(
    skill: PublishedSkill, found: FoundVersion, trust: TrustScore, installs: int
) -> SkillDetail:
    version = found.version
    return SkillDetail(
        slug=skill.slug,
        name=skill.name,
        author=skill.publisher,
        description=skill.description,
        repo_url=skill.repo_url,
        skill_path=skill.skill_path,
        current_version=skill.version,
        version=version.version,
        sha=version.digest,
        archive_sha256=version.archive_sha256,
        commit_sha=version.commit_sha,
        license=skill.license,
        content=await _manifest(version),
        cert_tier=cert_tier(trust.tier),
        cert_score=trust.score,
        trust_tier=trust.tier,
        trust_score=trust.score,
        trust=trust.words,
        provenance_verified=version.commit_sha is not None,
        vskill_installs=installs,
        is_private=skill.is_private,
        tags=skill.tags,
        agents=skill.agents,
        published_at=skill.published_at,
        updated_at=version.published_at,
        yanked=found.yank.reason if found.yank else None,
    )


async def _manifest(version: SkillVersion) -> str:
    return text_of(await read_file(version, MANIFEST)) or ""


def _version_item(row: VersionRow, trust: TrustScore, *, content: str | None = None) -> VersionItem:
    version = row.version
    return VersionItem(
        version=version.version,
        standing=row.standing,
        reason=row.reason,
        content_hash=version.digest,
        archive_sha256=version.archive_sha256,
        git_sha=version.commit_sha,
        created_at=version.published_at,
        cert_tier=cert_tier(trust.tier),
        cert_score=trust.score,
        cert_method="scan",
        diff_summary="",
        content=content,
    )


async def _diff(request: ApiRequest, slug: str, old: str, new: str) -> Any:
    skill = await _listed(request, slug)
    try:
        return await diff_of_skill(skill.slug, old or None, new or None)
    except NotFound as error:  # the skill is there: it is the version that cannot be meant
        raise InvalidInput(str(error)) from error


def _summary(files: tuple[FileChange, ...]) -> str:
    kinds = [file.kind for file in files]
    words = [f"{kinds.count(kind)} {kind}" for kind in ("added", "removed", "changed")]
    return ", ".join(words) if files else "nothing changed"


def _patch(file: FileChange) -> str:
    before, after = (file.path if side else "/dev/null" for side in (file.old, file.new))
    head = f"--- {before}\n+++ {after}"
    return "\n".join([head, *file.lines, *([f"({file.note})"] if file.note else [])])


def _compared(file: FileChange) -> ComparedFile:
    return ComparedFile(
        filename=file.path,
        status={"changed": "modified"}.get(file.kind, file.kind),
        additions=sum(line.startswith("+") for line in file.lines),
        deletions=sum(line.startswith("-") for line in file.lines),
        patch="\n".join(file.lines),
        note=file.note,
    )


def _own_provider(found: SecurityReport) -> ProviderItem:
    report = found.report
    if report is None:
        note = "the report of this version is not kept any more"
        return ProviderItem(
            provider="vskill-platform", status="PENDING", verdict="unknown", critical_count=0,
            note=note,
        )  # fmt: skip
    critical = sum(
        item.severity is Severity.CRITICAL and item.kind is not FindingKind.EXTERNAL
        for item in report.findings
    )
    status = "FAIL" if report.verdict == "block" else "PASS"
    return ProviderItem(
        provider=report.scanner, status=status, verdict=report.verdict, critical_count=critical
    )


def _provider(scan: ExternalScan) -> ProviderItem:
    status = scan.status if scan.status in {"PASS", "FAIL", "TIMED_OUT"} else "PENDING"
    critical = sum(item.severity is Severity.CRITICAL for item in scan.findings)
    return ProviderItem(
        provider=scan.provider, status=status, verdict=scan.status, critical_count=critical,
        note=scan.note,
    )  # fmt: skip
