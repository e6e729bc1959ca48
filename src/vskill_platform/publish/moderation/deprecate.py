"""Deprecate a skill or a version: it stays available, with a warning and maybe a replacement."""

from collections.abc import Callable

import msgspec

from vskill_platform.errors import InvalidInput, NotFound
from vskill_platform.model.skill import Deprecation, PublishedSkill, no_such_version
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.skill_store import get_skill, resolve_slug, write_skill
from vskill_platform.stores.version_store import get_versions


async def deprecate(
    slug: str, version: str | None, *, message: str, use: str = "", actor: str
) -> PublishedSkill:
    """Deprecate a version, or the whole skill with its later versions.

    *use* is the slug of the skill to use instead. A second deprecation replaces the first.
    """
    if not message.strip():
        raise InvalidInput("a message is required; it says why, and what to do")
    if use and (await resolve_slug(use)) == (await resolve_slug(slug)):
        raise InvalidInput("a deprecated skill cannot point to itself; name another skill")
    if use and await get_skill(await resolve_slug(use)) is None:
        raise NotFound(f"there is no published skill {use!r}")

    def mark(number: int | None) -> Deprecation:
        return Deprecation(number=number, reason=message, use=use, by=actor, at=get_now())

    return await _change(slug, version, mark, actor=actor, audit=("deprecate", message))


async def undeprecate(slug: str, version: str | None, *, actor: str) -> PublishedSkill:
    """End the deprecation of a version, or of the whole skill but not of single versions."""
    return await _change(slug, version, lambda _: None, actor=actor, audit=("undeprecate", ""))


async def _change(
    slug: str,
    version: str | None,
    mark: Callable[[int | None], Deprecation | None],
    *,
    actor: str,
    audit: tuple[str, str],
) -> PublishedSkill:
    action, reason = audit

    async def plan() -> PlannedChange[PublishedSkill]:
        stored = await get_skill(await resolve_slug(slug))
        if stored is None:
            raise NotFound(f"there is no published skill {slug!r}")
        skill = stored.record
        number = await _number_of(skill, version)
        before = next((item for item in skill.deprecated if item.number == number), None)
        after = mark(number)
        if (before and _content_of(before)) == (after and _content_of(after)):
            return PlannedChange(result=skill)
        others = tuple(item for item in skill.deprecated if item.number != number)
        changed = msgspec.structs.replace(skill, deprecated=(*others, *([after] if after else [])))
        subject = f"{skill.slug} {version}" if version else skill.slug
        outcome = f"use {after.use} instead" if after and after.use else ""
        record = write_audit(action, subject, actor=actor, reason=reason, outcome=outcome)
        return PlannedChange(
            operations=[write_skill(changed, expected=stored.revision), record], result=changed
        )

    return await change(slug, plan)


async def _number_of(skill: PublishedSkill, version: str | None) -> int | None:
    if version is None:
        return None
    versions = {item.version: item.number for item in await get_versions(skill.slug)}
    if version not in versions:
        raise no_such_version(skill.slug, version, versions)
    return versions[version]


def _content_of(mark: Deprecation) -> tuple[str, str]:
    return mark.reason, mark.use
