"""ClawHub v1, before an install: verdicts, verification, moderation and stored scans."""

from typing import Annotated

import msgspec
from litestar import MediaType, Response
from litestar.params import FromPath, JSONBody
from litestar.status_codes import (
    HTTP_404_NOT_FOUND,
    HTTP_409_CONFLICT,
    HTTP_410_GONE,
    HTTP_423_LOCKED,
)

from vskill_platform.base.settle import settle
from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.source import public_source
from vskill_platform.publish.versions.find_version import find_version
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.protocols.clawhub.find import (
    SKILL_NOT_FOUND,
    AmbiguousName,
    NoSkill,
    download_url,
    find_owned_skill,
    find_refused,
    page_url,
)
from vskill_platform.web.protocols.clawhub.shapes import Object
from vskill_platform.web.protocols.clawhub.skills import Owner, Tag, chosen_version
from vskill_platform.web.protocols.clawhub.trust import (
    Assessment,
    assess_refused,
    assess_skill,
    assess_version,
    evidence_json,
    millis,
    moderation_json,
    security_json,
)
from vskill_platform.web.skills.clawhub_names import split_slug
from vskill_platform.web.skills.readme_page import public_address

_MAX_ITEMS = 100
_AT_ONCE = 8
_VERDICTS = "clawhub.skill.security-verdicts.v1"
_VERIFICATION = "clawhub.skill.verify.v1"
_LATEST = "latest"
_Text = Annotated[str, msgspec.Meta(max_length=300)]


class VerdictRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    slug: _Text
    version: _Text
    owner_handle: _Text = ""


class VerdictRequests(msgspec.Struct, frozen=True, kw_only=True):
    items: Annotated[list[VerdictRequest], msgspec.Meta(max_length=_MAX_ITEMS)]


async def resolve_install(
    request: WebRequest, name: FromPath[str], owner: Owner = ""
) -> Response[Object]:
    """Return the archive to install, or why there is none, with the reasons of a block."""
    try:
        skill = await find_owned_skill(request, name, owner)
    except AmbiguousName as error:
        return _no_install(name, HTTP_409_CONFLICT, "ambiguous_slug", error.message)
    except NoSkill:
        submission = await find_refused(request, name, owner)
        link = f"{public_address(request)}/submissions/{submission.id}"
        return _stopped(name, await assess_refused(submission), link)
    owned = split_slug(skill.slug)
    try:
        version = (await find_version(skill.slug)).version
    except NotAllowed:
        return _stopped(owned.name, await assess_skill(skill), page_url(request, skill.slug))
    except NotFound as error:
        return _no_install(owned.name, HTTP_410_GONE, "archive_version_missing", str(error))
    archive = {
        "version": version.version,
        "downloadUrl": download_url(request, owned, version.version),
    }
    return Response({"ok": True, "slug": owned.name, "installKind": "archive", "archive": archive})


def _stopped(name: str, found: Assessment, link: str) -> Response[Object]:
    status, reason = HTTP_409_CONFLICT, "archive_version_missing"
    if found.is_blocked:
        status, reason = HTTP_423_LOCKED, "malware_blocked"
    return _no_install(name, status, reason, f"{found.overview}\nDetails: {link}")


def _no_install(name: str, status: int, reason: str, message: str) -> Response[Object]:
    response = {"ok": False, "slug": name, "reason": reason, "message": message, "status": status}
    return Response(response, status_code=status)


@operation(changes=False)
async def security_verdicts(request: WebRequest, data: JSONBody[VerdictRequests]) -> Object:
    """Return whether up to 100 versions may be installed, and if not, why."""

    async def judge(asked: VerdictRequest) -> Object:
        return await _verdict(request, asked)

    found = await settle(judge, data.items, at_once=_AT_ONCE)
    for error in (item for item in found if isinstance(item, Exception)):
        raise error
    return {"schema": _VERDICTS, "items": found}


async def _verdict(request: WebRequest, asked: VerdictRequest) -> Object:
    try:
        skill = await find_owned_skill(request, asked.slug, asked.owner_handle)
    except NotFound:
        return await _verdict_on_refused(request, asked)
    version = await version_named(skill, asked.version)
    if version is None:
        return _no_verdict(asked, "version_not_found", f"there is no version {asked.version}")
    found = await assess_version(skill, version)
    part = () if found.is_blocked else ("security",)
    return {
        **_requested(asked),
        **_identity(skill),
        **_decision(found),
        "version": version.version,
        "createdAt": millis(version.published_at),
        "skillUrl": page_url(request, skill.slug),
        "securityAuditUrl": page_url(request, skill.slug, *part, version=_if_named(skill, version)),
    }


async def _verdict_on_refused(request: WebRequest, asked: VerdictRequest) -> Object:
    try:
        submission = await find_refused(request, asked.slug, asked.owner_handle)
    except NoSkill:
        return _no_verdict(asked, "skill_not_found", SKILL_NOT_FOUND)
    found = await assess_refused(submission)
    return {
        **_requested(asked),
        **_decision(found),
        "slug": asked.slug,
        "version": asked.version,
        "publisherHandle": asked.owner_handle.removeprefix("@").lower(),
        "securityAuditUrl": f"{public_address(request)}/submissions/{submission.id}",
    }


def _no_verdict(asked: VerdictRequest, code: str, message: str) -> Object:
    return {
        **_requested(asked),
        "ok": False,
        "decision": "fail",
        "reasons": [code.replace("_not", ".not")],
        "slug": None,
        "version": None,
        "publisherHandle": None,
        "security": None,
        "error": {"code": code, "message": message},
    }


def _requested(asked: VerdictRequest) -> Object:
    return {
        "requestedSlug": asked.slug,
        "requestedOwnerHandle": asked.owner_handle or None,
        "requestedVersion": asked.version,
    }


def _identity(skill: PublishedSkill) -> Object:
    owned = split_slug(skill.slug)
    return {
        "slug": owned.name,
        "displayName": skill.name,
        "publisherHandle": owned.owner,
        "publisherDisplayName": owned.owner,
    }


def _decision(found: Assessment) -> Object:
    refusal = "blocked" if found.is_blocked else "fail"
    return {
        "ok": found.is_clean,
        "decision": "pass" if found.is_clean else refusal,
        "reasons": found.reasons,
        "overview": found.overview,
        "checkedAt": millis(found.checked_at),
        "security": security_json(found),
    }


async def verify(
    request: WebRequest, name: FromPath[str], owner: Owner = "", version: Tag = "", tag: Tag = ""
) -> Object:
    """Verify a version: return what was checked, its source and the verdict."""
    skill = await find_owned_skill(request, name, owner)
    chosen = await version_named(skill, chosen_version(version, tag))
    if chosen is None:
        raise NotFound(f"{skill.slug} has no version {version}")
    found = await assess_version(skill, chosen)
    owned = split_slug(skill.slug)
    by_tag = "tag" if tag else _LATEST
    return {
        "schema": _VERIFICATION,
        **_identity(skill),
        **_decision(found),
        "decision": "pass" if found.is_clean else "fail",
        "pageUrl": page_url(request, skill.slug),
        "publisherProfileUrl": None,
        "version": chosen.version,
        "resolvedFrom": "version" if version else by_tag,
        "tag": None if version else _LATEST,
        "createdAt": millis(chosen.published_at),
        "card": {"available": False, "url": None},
        "artifact": {
            "kind": "archive",
            "downloadUrl": download_url(request, owned, chosen.version),
            "contentSha256": chosen.digest,
            "files": [
                {"path": file.path, "size": file.size, "sha256": file.sha256}
                for file in chosen.files
            ],
        },
        "provenance": {
            "source": "git" if chosen.commit_sha else "upload",
            "url": public_source(skill.repo_url),
            "path": skill.skill_path,
            "commit": chosen.commit_sha,
        },
        "signature": None,
    }


async def moderation(request: WebRequest, name: FromPath[str], owner: Owner = "") -> Object:
    """Show why a skill is flagged or blocked, with every finding."""
    try:
        found = await assess_skill(await find_owned_skill(request, name, owner))
    except NoSkill:
        found = await assess_refused(await find_refused(request, name, owner))
    evidence = [
        {key: item[key] for key in ("code", "severity", "file", "line", "message", "evidence")}
        for item in evidence_json(found)
    ]
    return {"moderation": {**moderation_json(found), "legacyReason": None, "evidence": evidence}}


async def no_card(name: FromPath[str]) -> Response[str]:
    """Refuse: this registry generates no skill cards."""
    text = f"There is no skill card for {name}: see its security report."
    return Response(text, status_code=HTTP_404_NOT_FOUND, media_type=MediaType.TEXT)


async def version_named(skill: PublishedSkill, version: str | None) -> SkillVersion | None:
    """Return a version, blocked or not; by default the latest, or without one the newest."""
    versions = await get_versions(skill.slug)
    if version:
        return next((item for item in versions if item.version == version), None)
    return next((item for item in versions if item.number == skill.latest_number), versions[-1])


def _if_named(skill: PublishedSkill, version: SkillVersion) -> str:
    """Return the version for links to its pages; empty for the latest one."""
    return "" if version.number == skill.latest_number else version.version
