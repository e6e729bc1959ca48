"""Find the version to install: the latest, or an exact one."""

import msgspec

from vskill_platform.errors import NotAllowed, NotFound
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import PublishedSkill, SkillVersion, Yank
from vskill_platform.stores.block_store import get_blocks
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.skill_store import (
    get_archive,
    get_skill,
    get_version,
    get_versions,
    resolve_slug,
)


class FoundVersion(msgspec.Struct, frozen=True, kw_only=True):
    skill: PublishedSkill
    version: SkillVersion
    #: Why it is yanked, though installable by exact version.
    yank: Yank | None = None


async def find_version(slug: str, version: str | None = None) -> FoundVersion:
    """Return the latest version of a skill, or the requested one; old slugs work, too."""
    stored = await get_skill(await resolve_slug(slug))
    if stored is None:
        raise NotFound(f"there is no published skill {slug!r}")
    skill = stored.record
    if skill.down:
        raise NotAllowed(f"{skill.slug} is no longer available: {skill.down.reason}")
    found = await (_named(skill, version) if version else _latest(skill))
    blocks = await get_blocks([BlockSubject(BlockKind.DIGEST, found.digest)])
    if blocks:  # an older version: blocking the content of the latest takes the skill down
        raise NotAllowed(f"{skill.slug} {found.version} is {why_blocked(blocks[0].record)}")
    return FoundVersion(skill=skill, version=found, yank=skill.yank_of(found.number))


async def find_archive(slug: str, version: str | None = None) -> bytes:
    """Return the archive of a version, exactly as it was checked."""
    found = (await find_version(slug, version)).version
    archive = await get_archive(found.archive_sha256)
    if archive is None:
        raise NotFound(f"the archive of {found.slug} {found.version} is no longer stored")
    return archive


async def _latest(skill: PublishedSkill) -> SkillVersion:
    if skill.offered is None:
        raise NotFound(
            f"every version of {skill.slug} is yanked; to install one anyway, "
            "give its exact version"
        )
    latest = await get_version(skill.slug, skill.offered)
    if latest is None:
        raise NotFound(f"version {skill.version} of {skill.slug} is no longer stored")
    return latest


async def _named(skill: PublishedSkill, version: str) -> SkillVersion:
    versions = {item.version: item for item in await get_versions(skill.slug)}
    if version not in versions:
        raise NotFound(f"{skill.slug} has no version {version}, only {', '.join(versions)}")
    return versions[version]


async def open_version(skill: PublishedSkill, version: str | None = None) -> FoundVersion:
    """Return the requested version, else the latest; if all are yanked, the newest of them.

    Reading is not installing: a skill without available versions can still be viewed.
    """
    if version is None and skill.offered is None:
        newest = await get_version(skill.slug, skill.versions)
        version = newest.version if newest else None
    return await find_version(skill.slug, version)
