"""Yank versions: a yanked version is never the latest, but still installable by exact version.

take_down.py removes a whole skill from all lists.
"""

from collections.abc import Callable

import msgspec

from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.model.skill import PublishedSkill, SkillVersion, Yank, no_such_version
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.skill_store import get_skill, resolve_slug, write_skill
from vskill_platform.stores.version_store import get_versions

_Change = Callable[[PublishedSkill, SkillVersion], PublishedSkill]


class Yanked(msgspec.Struct, frozen=True, kw_only=True):
    #: The current record of the skill.
    skill: PublishedSkill
    version: str
    #: False if the version already was in this state.
    is_changed: bool


async def yank_version(
    slug: str, version: str, *, reason: str, actor: str, is_by_staff: bool = False
) -> Yanked:
    """Yank a version; a second yank has no effect, unless staff repeat that of an owner."""

    def yank(skill: PublishedSkill, of: SkillVersion) -> PublishedSkill:
        known = skill.yank_of(of.number)
        if known and (known.is_by_staff or not is_by_staff):
            return skill
        mark = Yank(
            number=of.number, reason=reason, by=actor, at=get_now(), is_by_staff=is_by_staff
        )
        others = tuple(one for one in skill.yanked if one.number != of.number)
        return msgspec.structs.replace(skill, yanked=(*others, mark))

    return await _change("yank", slug, version, reason=reason, actor=actor, update=yank)


async def unyank_version(
    slug: str, version: str, *, reason: str, actor: str, is_by_staff: bool = False
) -> Yanked:
    """Unyank a version; it becomes the latest if no newer version is available.

    A version that staff have yanked can be unyanked only by staff.
    """

    def unyank(skill: PublishedSkill, of: SkillVersion) -> PublishedSkill:
        known = skill.yank_of(of.number)
        if known and known.is_by_staff and not is_by_staff:
            raise NotAllowed(
                f"{known.by} (staff) yanked {of.version}: {known.reason}. Appeal it, if you "
                "think that it should be available"
            )
        left = tuple(mark for mark in skill.yanked if mark.number != of.number)
        return msgspec.structs.replace(skill, yanked=left)

    return await _change("unyank", slug, version, reason=reason, actor=actor, update=unyank)


async def _change(
    action: str, slug: str, version: str, *, reason: str, actor: str, update: _Change
) -> Yanked:
    """Change the yanked versions and the latest one, with the audit record, by compare-and-set."""
    slug = await resolve_slug(slug)

    async def plan() -> PlannedChange[Yanked]:
        stored = await get_skill(slug)
        if stored is None:
            raise NotFound(f"there is no published skill {slug!r}")
        versions = {item.version: item for item in await get_versions(slug)}
        if version not in versions:
            raise no_such_version(slug, version, versions)
        changed = update(stored.record, versions[version])
        if changed == stored.record:
            return PlannedChange(result=Yanked(skill=changed, version=version, is_changed=False))
        latest = next(
            (item for item in versions.values() if item.number == changed.latest_number), None
        )
        changed = msgspec.structs.replace(
            changed,
            version=latest.version if latest else "",
            digest=latest.digest if latest else "",
        )
        outcome = f"latest is {changed.version}" if latest else "no version is available"
        audit = write_audit(
            action, f"{slug} {version}", actor=actor, reason=reason, outcome=outcome
        )
        return PlannedChange(
            operations=[write_skill(changed, expected=stored.revision), audit],
            result=Yanked(skill=changed, version=version, is_changed=True),
        )

    return await change(slug, plan)
