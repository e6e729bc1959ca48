"""What a page or an API shows of a skill: one of its versions, and what stands against it."""

from vskill_platform.model.skill import PublishedSkill
from vskill_platform.publish.versions.find_version import FoundVersion, find_version
from vskill_platform.stores.skill_store import get_version


async def open_version(skill: PublishedSkill, version: str | None = None) -> FoundVersion:
    """Return the version that is named, else the latest; if all are yanked, the newest of them.

    Who reads is not who installs: a skill of which nothing is offered can still be looked at.
    """
    if version is None and skill.offered is None:
        newest = await get_version(skill.slug, skill.versions)
        version = newest.version if newest else None
    return await find_version(skill.slug, version)
