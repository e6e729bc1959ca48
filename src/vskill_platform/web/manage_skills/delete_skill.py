"""Delete a skill or a version: the page, which first shows what would be deleted, and the API."""

from litestar import Response
from litestar.params import FromPath, JSONBody
from litestar.response import Redirect, Template

from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound, Overtaken
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.rights import Right, Visitor
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.moderation.delete_skill import (
    Deletion,
    delete_skill,
    preview_deletion,
)
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.web.html.flash import admin_page
from vskill_platform.web.http.api_types import ReasonText, Shape, Text, VersionName
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.route import operation
from vskill_platform.web.http.urls import skill_url
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.slugs import find_skill, slug_of


class DeleteRequest(Shape, frozen=True, kw_only=True):
    #: The version; without it, the whole skill.
    version: Text | None = None
    reason: ReasonText


class DeletionResponse(Shape, frozen=True, kw_only=True):
    slug: str
    versions: tuple[str, ...]
    is_whole_skill: bool
    #: Old slugs of the skill, which stop working.
    aliases: tuple[str, ...]
    installs: int
    #: The size of the files.
    bytes: int
    #: Why you cannot delete it; null if you can.
    refused: str | None


async def preview_over_api(
    request: WebRequest, slug: FromPath[str], version: VersionName = None
) -> DeletionResponse:
    """Show what a deletion would remove, without deleting anything."""
    skill, is_admin = await _own(visitor_of(request), await find_skill(request, slug_of(slug)))
    return _response(await preview_deletion(skill.slug, version), is_admin=is_admin)


@operation(status=200)
async def delete_over_api(
    request: WebRequest, slug: FromPath[str], data: JSONBody[DeleteRequest]
) -> DeletionResponse:
    """Delete a skill or a version. Others cannot use its name or its version numbers."""
    visitor = visitor_of(request)
    skill, is_admin = await _own(visitor, await find_skill(request, slug_of(slug)))
    done = await delete_skill(
        skill.slug, data.version, actor=visitor.name, reason=data.reason, is_admin=is_admin
    )
    return _response(done, is_admin=is_admin)


async def delete_page(request: WebRequest, slug: FromPath[str]) -> Template:
    version = request.query_params.get("version") or None
    return await _show(request, slug, version)


async def delete_form(request: WebRequest, slug: FromPath[str]) -> Response[str] | Template:
    fields, visitor = await read_fields(request), visitor_of(request)
    skill, is_admin = await _own(visitor, await _visible(request, slug))
    version = fields.get("version") or None
    if fields.get("confirm", "").strip() != skill.slug:
        return await _show(request, slug, version, problem=f"To confirm, type {skill.slug}.")
    try:
        await delete_skill(
            skill.slug, version, actor=visitor.name, reason=fields.get("reason", ""),
            is_admin=is_admin,
        )  # fmt: skip
    except (InvalidInput, NotAllowed, NotFound, Overtaken) as error:
        return await _show(request, slug, version, problem=str(error))
    return Redirect(skill_url(skill.slug), status_code=303)


async def _show(
    request: WebRequest, slug: str, version: str | None, *, problem: str = ""
) -> Template:
    skill, is_admin = await _own(visitor_of(request), await _visible(request, slug))
    deletion = await preview_deletion(skill.slug, version)
    context = {"skill": skill, "version": version, "deletion": deletion, "is_admin": is_admin}
    page = admin_page(request, "admin/delete_skill.html", context)
    if problem:
        page.context["problem"] = problem
        page.status_code = 400
    return page


async def _visible(request: WebRequest, slug: str) -> PublishedSkill:
    return (await find_visible_skill(visitor_of(request), slug.strip("/"))).record


async def _own(visitor: Visitor, skill: PublishedSkill) -> tuple[PublishedSkill, bool]:
    """Return the skill and whether the visitor is an admin; raise if neither owner nor admin."""
    settings = get_settings()
    if visitor.may(Right.ADMINISTER, settings):
        return skill, True
    namespace = (await get_namespace(namespace_of_skill(skill))).record
    if not visitor.owns(namespace) or not visitor.may(Right.MANAGE, settings):
        raise NotAllowed(f"only an owner of its namespace or an admin can delete {skill.slug}")
    return skill, False


def _response(found: Deletion, *, is_admin: bool) -> DeletionResponse:
    return DeletionResponse(
        slug=found.slug,
        versions=found.versions,
        is_whole_skill=found.is_whole_skill,
        aliases=found.aliases,
        installs=found.installs,
        bytes=found.bytes,
        refused=None if is_admin else found.refused or None,
    )
