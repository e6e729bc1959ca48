"""List the versions of a skill, also of one that was taken down."""

from enum import StrEnum

import msgspec

from vskill_platform.errors import NotFound
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.model.trust import TrustScore
from vskill_platform.publish.versions.diff_versions import VersionDiff, diff_versions
from vskill_platform.publish.versions.trust_of_skill import find_reviewer, trust_of_skill
from vskill_platform.stores.block_store import get_blocks
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.skill_store import get_skill, get_versions, resolve_slug
from vskill_platform.stores.submission_store import get_histories


class Standing(StrEnum):
    #: Installed by default.
    LATEST = "latest"
    OFFERED = "offered"
    #: Only installable by exact version.
    YANKED = "yanked"
    #: Not installable.
    BLOCKED = "blocked"
    TAKEN_DOWN = "taken down"


class VersionRow(msgspec.Struct, frozen=True, kw_only=True):
    version: SkillVersion
    standing: Standing
    #: Why it is not available; empty if it is.
    reason: str = ""
    #: The reviewer who approved it; None if none did.
    approved_by: str | None = None


class SkillVersions(msgspec.Struct, frozen=True, kw_only=True):
    skill: PublishedSkill
    trust: TrustScore
    #: Newest first.
    versions: tuple[VersionRow, ...]


async def list_versions(slug: str) -> SkillVersions:
    skill, versions = await _find(slug)
    histories = await get_histories(list({version.submission_id for version in versions}))
    rows = [
        msgspec.structs.replace(
            await _row(skill, version),
            approved_by=find_reviewer(histories[version.submission_id], version),
        )
        for version in reversed(versions)
    ]
    trust = await trust_of_skill(skill)
    return SkillVersions(skill=skill, trust=trust, versions=tuple(rows))


async def diff_of_skill(slug: str, old: str | None, new: str | None) -> VersionDiff:
    """Compare two versions; by default the newest and the one before it."""
    skill, versions = await _find(slug)
    by_version = {item.version: item for item in versions}
    for wanted in (old, new):
        if wanted and wanted not in by_version:
            known = ", ".join(by_version)
            raise NotFound(f"{skill.slug} has no version {wanted}, only {known}")
    after = by_version[new] if new else versions[-1]
    if old:
        return await diff_versions(by_version[old], after)
    earlier = [item for item in versions if item.number < after.number]
    if not earlier:
        raise NotFound(f"{skill.slug} {after.version} is the first version")
    return await diff_versions(earlier[-1], after)


async def _find(slug: str) -> tuple[PublishedSkill, list[SkillVersion]]:
    stored = await get_skill(await resolve_slug(slug))
    versions = await get_versions(stored.record.slug) if stored else []
    if stored is None or not versions:
        raise NotFound(f"there is no published skill {slug!r}")
    return stored.record, versions


async def _row(skill: PublishedSkill, version: SkillVersion) -> VersionRow:
    if skill.down:
        return VersionRow(version=version, standing=Standing.TAKEN_DOWN, reason=skill.down.reason)
    blocks = await get_blocks([BlockSubject(BlockKind.DIGEST, version.digest)])
    if blocks:
        why = why_blocked(blocks[0].record)
        return VersionRow(version=version, standing=Standing.BLOCKED, reason=why)
    if yank := skill.yank_of(version.number):
        return VersionRow(version=version, standing=Standing.YANKED, reason=yank.reason)
    is_latest = version.number == skill.offered
    return VersionRow(version=version, standing=Standing.LATEST if is_latest else Standing.OFFERED)
