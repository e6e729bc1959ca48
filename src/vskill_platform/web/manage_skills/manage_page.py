"""The page to manage a published skill: versions, deprecation, name, visibility, block."""

from typing import Any

from litestar.params import FromPath
from litestar.response import Redirect, Template

from vskill_platform.access.namespaces import acts_as_staff, check_may_manage
from vskill_platform.access.visibility import find_visible_skill
from vskill_platform.errors import InvalidInput
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.rights import Right
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.moderation.deprecate import deprecate, undeprecate
from vskill_platform.publish.moderation.feature_skills import list_featured
from vskill_platform.publish.moderation.yank_version import unyank_version, yank_version
from vskill_platform.publish.versions.find_version import list_versions
from vskill_platform.publish.versions.set_visibility import set_visibility
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.namespace_store import get_namespace
from vskill_platform.stores.transfer_store import get_transfer, transfer_id
from vskill_platform.web.html.flash import act, admin_page
from vskill_platform.web.http.bodies import read_fields
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.manage_skills.transfers import end_transfer, may_transfer, rename, transfer
from vskill_platform.web.skills.slugs import find_successor

#: How many versions the page shows unfolded; the rest is folded, so that actions stay near.
_OPEN_VERSIONS = 6


async def manage_page(request: WebRequest, slug: FromPath[str]) -> Template:
    skill = await _own_skill(request, slug)
    listed = await list_versions(skill.slug)
    namespace = (await get_namespace(namespace_of_skill(skill))).record
    context: dict[str, Any] = {
        "skill": skill,
        "versions": listed.versions,
        "trust": listed.trust,
        "is_owned": namespace.is_owned,
        "transfer": await get_transfer(transfer_id(skill.slug)),
        "may_transfer": await may_transfer(visitor_of(request), skill),
        "is_featured": skill.slug in await list_featured(),
        "open_versions": _OPEN_VERSIONS,
    }
    return admin_page(request, "admin/skill.html", context)


async def yank_form(request: WebRequest, slug: FromPath[str]) -> Redirect:
    skill, fields = await _own_skill(request, slug), await read_fields(request)
    visitor, is_undone = visitor_of(request), fields.get("act") == "unyank"
    words = "is available again" if is_undone else "was yanked"
    is_by_staff = (
        visitor.may(Right.BLOCK, get_settings())
        if is_undone
        else await acts_as_staff(visitor, skill)
    )

    async def work() -> str:
        reason = fields.get("reason", "").strip()
        if not reason:
            raise InvalidInput("a reason is required; users of the version can read it")
        done = await (unyank_version if is_undone else yank_version)(
            skill.slug,
            fields.get("version", ""),
            reason=reason,
            actor=visitor.name,
            is_by_staff=is_by_staff,
        )
        return f"{done.version} {words}."

    return await act(f"/admin/skills/{skill.slug}", work)


async def deprecate_form(request: WebRequest, slug: FromPath[str]) -> Redirect:
    skill, fields = await _own_skill(request, slug), await read_fields(request)
    visitor, version = visitor_of(request), fields.get("version", "") or None
    what = version or "The skill"

    async def work() -> str:
        if fields.get("act") == "undeprecate":
            await undeprecate(skill.slug, version, actor=visitor.name)
            return f"{what} is no longer deprecated."
        message = fields.get("message", "").strip()
        if not message:
            raise InvalidInput("a message is required; everyone who finds the skill can read it")
        use = await find_successor(visitor, skill, fields.get("use", ""))
        await deprecate(skill.slug, version, message=message, use=use, actor=visitor.name)
        return f"{what} is deprecated."

    return await act(f"/admin/skills/{skill.slug}", work)


async def rename_form(request: WebRequest, slug: FromPath[str]) -> Redirect:
    skill, fields = await _own_skill(request, slug), await read_fields(request)

    async def work() -> str:
        done = await rename(
            visitor_of(request), skill, fields.get("name", ""), fields.get("reason", "")
        )
        return f"The skill is now {done.subject}. Its old slug leads to it."

    return await act(f"/admin/skills/{skill.slug}", work)


async def transfer_form(request: WebRequest, slug: FromPath[str]) -> Redirect:
    """Move the skill to another namespace, offer it to its owners, or withdraw the offer."""
    skill, fields = await _own_skill(request, slug), await read_fields(request)
    visitor = visitor_of(request)

    async def work() -> str:
        if fields.get("act") == "withdraw":
            await end_transfer(visitor, transfer_id(skill.slug))
            return "The transfer was withdrawn."
        reason = fields.get("reason", "")
        done = await transfer(visitor, skill, fields.get("namespace", ""), reason)
        if done.transfer:
            return f"An owner of {done.transfer.to} can accept the skill on their account page."
        return f"The skill is now {done.subject}. Its old slug leads to it."

    return await act(f"/admin/skills/{skill.slug}", work)


async def visibility_form(request: WebRequest, slug: FromPath[str]) -> Redirect:
    skill, fields = await _own_skill(request, slug), await read_fields(request)

    async def work() -> str:
        changed = await set_visibility(
            skill.slug,
            is_private=fields.get("private") == "yes",
            actor=visitor_of(request).name,
            reason=fields.get("reason", ""),
        )
        return f"The skill is now {'private' if changed.is_private else 'public'}."

    return await act(f"/admin/skills/{skill.slug}", work)


async def _own_skill(request: WebRequest, slug: str) -> PublishedSkill:
    visitor = visitor_of(request)
    skill = (await find_visible_skill(visitor, slug.strip("/"))).record
    await check_may_manage(visitor, skill)
    return skill
