"""ClawHub v1, changing: delete and restore, install counts, and unsupported operations."""

import msgspec
from litestar import MediaType, Response
from litestar.params import FromPath
from litestar.status_codes import HTTP_405_METHOD_NOT_ALLOWED

from vskill_platform.access.namespaces import acts_as_staff, check_may_manage
from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.rights import Right
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.moderation.user_reports import report_skill
from vskill_platform.publish.moderation.yank_version import unyank_version, yank_version
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.version_store import get_versions
from vskill_platform.web.http.api_types import MAX_REASON
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.protocols.clawhub.find import find_owned_skill
from vskill_platform.web.protocols.clawhub.shapes import Object
from vskill_platform.web.skills.installs import count_installs

#: The reason of versions yanked by a delete, so that an undelete leaves others alone.
_DELETED = "deleted by the owner"
#: Unsupported features of ClawHub, by the word in the path, with what to do instead.
_INSTEAD = {
    "stars": "Skills cannot be starred in this registry.",
    "rename": "Rename it on its page under Manage, or with `vskill-platform rename`.",
    "merge": "Skills cannot be merged: publish one of them again, then delete the other.",
    "transfer": "Transfer it on its page under Manage, or with `vskill-platform transfer`.",
    "transfers": "Transfer it on its page under Manage, or with `vskill-platform transfer`.",
    "tags": "The only tag is latest: the newest version that is not yanked.",
    "publishers": "An admin of this registry adds namespaces and their owners.",
}
_SKILLS_ONLY = "This registry has skills only: no plugins, packages or promotions."


class Asked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The body of a change; a DELETE may have none."""

    owner_handle: str = ""
    reason: str = ""
    event: str = ""
    slug: str = ""


async def delete_skill(request: WebRequest, name: FromPath[str]) -> Object:
    """Yank every version. They stay installable by exact version, and can be restored."""
    asked = await _read_body(request)
    skill = await _own(request, name, asked)
    yanked = {mark.number for mark in skill.yanked}
    for version in await get_versions(skill.slug):
        if version.number not in yanked:
            await _yank(request, skill, version.version, _reason(asked))
    return {"ok": True}


async def undelete_skill(request: WebRequest, name: FromPath[str]) -> Object:
    """Restore the versions that a delete yanked."""
    asked = await _read_body(request)
    skill = await _own(request, name, asked)
    deleted = {mark.number for mark in skill.yanked if mark.reason.startswith(_DELETED)}
    if not deleted:
        raise InvalidInput(f"{skill.slug} is not deleted")
    for version in await get_versions(skill.slug):
        if version.number in deleted:
            await _unyank(request, skill, version.version, "undeleted")
    return {"ok": True}


async def delete_version(
    request: WebRequest, name: FromPath[str], version: FromPath[str]
) -> Object:
    """Yank one version."""
    asked = await _read_body(request)
    skill = await _own(request, name, asked)
    await _yank(request, skill, version, _reason(asked))
    return {"ok": True}


async def restore_version(
    request: WebRequest, name: FromPath[str], version: FromPath[str]
) -> Object:
    """Make a yanked version available again."""
    asked = await _read_body(request)
    skill = await _own(request, name, asked)
    await _unyank(request, skill, version, asked.reason or "restored")
    return {"ok": True}


async def count_install(request: WebRequest) -> Object:
    """Count an install, once a day for each visitor and skill; other events are ignored."""
    asked = await _read_body(request)
    if asked.event == "install":
        try:
            skill = await find_owned_skill(request, asked.slug, asked.owner_handle)
        except NotFound:
            return {"ok": True}
        await count_installs(request, [skill.slug])
    return {"ok": True}


async def report(request: WebRequest, name: FromPath[str]) -> Object:
    """Store a report about a skill for the reviewers."""
    visitor, asked = visitor_of(request), await _read_body(request)
    if not asked.reason or len(asked.reason) > MAX_REASON:
        raise InvalidInput(f"give a reason of at most {MAX_REASON} characters")
    skill = await find_owned_skill(request, name, asked.owner_handle)
    made = await report_skill(skill.slug, reason=asked.reason, actor=visitor.name)
    return {
        "ok": True,
        "reported": True,
        "alreadyReported": False,
        "reportId": made.id,
        "skillId": skill.slug,
        "reportCount": 1,
    }


async def not_offered(request: WebRequest) -> Response[str]:
    """Refuse an unsupported operation, and say what to do instead."""
    words = request.scope["path"].split("/")
    text = next((_INSTEAD[word] for word in words if word in _INSTEAD), _SKILLS_ONLY)
    # Not 501, because clients would retry.
    return Response(text, status_code=HTTP_405_METHOD_NOT_ALLOWED, media_type=MediaType.TEXT)


async def _own(request: WebRequest, name: str, asked: Asked) -> PublishedSkill:
    owner = asked.owner_handle or str(request.query_params.get("ownerHandle", ""))
    skill = await find_owned_skill(request, name, owner)
    await check_may_manage(visitor_of(request), skill)
    return skill


async def _yank(request: WebRequest, skill: PublishedSkill, version: str, reason: str) -> None:
    visitor = visitor_of(request)
    is_by_staff = await acts_as_staff(visitor, skill)
    await yank_version(
        skill.slug, version, reason=reason, actor=visitor.name, is_by_staff=is_by_staff
    )


async def _unyank(request: WebRequest, skill: PublishedSkill, version: str, reason: str) -> None:
    visitor = visitor_of(request)
    is_by_staff = visitor.may(Right.BLOCK, get_settings())
    await unyank_version(
        skill.slug, version, reason=reason, actor=visitor.name, is_by_staff=is_by_staff
    )


async def _read_body(request: WebRequest) -> Asked:
    body = await request.body()
    if not body:
        return Asked()
    try:
        return msgspec.json.decode(body, type=Asked)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(f"the request cannot be read: {error}") from error


def _reason(asked: Asked) -> str:
    return f"{_DELETED}: {asked.reason}"[:MAX_REASON] if asked.reason else _DELETED
