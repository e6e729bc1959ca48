"""Find the version to install, or list all versions of a skill, even of one that was taken down."""

from enum import StrEnum

import msgspec

from vskill_platform.errors import NotAllowed, NotFound, SkillDeleted
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import (
    Deprecation,
    PublishedSkill,
    SkillVersion,
    Yank,
    no_such_version,
)
from vskill_platform.model.trust import TrustScore
from vskill_platform.model.verdict import Verdict
from vskill_platform.publish.versions.diff_versions import VersionDiff, diff_versions
from vskill_platform.publish.versions.trust_of_skill import find_reviewer, trust_of_skill
from vskill_platform.stores.blob_store import Kept, read_kept
from vskill_platform.stores.block_store import get_blocks
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.scan_store import ReportMark, read_report_marks_on
from vskill_platform.stores.skill_store import get_skill, resolve_slug
from vskill_platform.stores.submission_store import get_histories
from vskill_platform.stores.version_store import get_kept_archive, get_version, get_versions


class FoundVersion(msgspec.Struct, frozen=True, kw_only=True):
    skill: PublishedSkill
    version: SkillVersion
    #: Why it was yanked; it is still installable by exact version.
    yank: Yank | None = None

    @property
    def deprecation(self) -> Deprecation | None:
        return self.skill.deprecation_of(self.version.number)


async def find_version(slug: str, version: str | None = None) -> FoundVersion:
    """Return the latest version of a skill, or the requested one; old slugs also work."""
    stored = await get_skill(await resolve_slug(slug))
    if stored is None:
        raise NotFound(f"there is no published skill {slug!r}")
    skill = stored.record
    if skill.down:
        raise NotAllowed(f"{skill.slug} is no longer available: {skill.down.reason}")
    found = await (_named(skill, version) if version else _latest(skill))
    blocks = await get_blocks([BlockSubject(BlockKind.DIGEST, found.digest)])
    if blocks:  # an older version: a block of the latest one takes the skill down
        raise NotAllowed(f"{skill.slug} {found.version} is {why_blocked(blocks[0].record)}")
    return FoundVersion(skill=skill, version=found, yank=skill.yank_of(found.number))


async def find_archive(slug: str, version: str | None = None) -> bytes:
    """Return the archive of a version, exactly as it was checked."""
    return await read_kept(await find_kept_archive(slug, version))


async def find_kept_archive(slug: str, version: str | None = None) -> Kept:
    """Return the stored archive of a version, to be read piece by piece."""
    found = (await find_version(slug, version)).version
    archive = await get_kept_archive(found.archive_sha256)
    if archive is None:
        raise NotFound(f"the archive of {found.slug} {found.version} is no longer stored")
    return archive


async def _latest(skill: PublishedSkill) -> SkillVersion:
    if skill.latest_number is None:
        raise NotFound(
            f"every version of {skill.slug} is yanked; to install one anyway, "
            "give its exact version"
        )
    latest = await get_version(skill.slug, skill.latest_number)
    if latest is None:
        raise NotFound(f"version {skill.version} of {skill.slug} is no longer stored")
    return latest


async def _named(skill: PublishedSkill, version: str) -> SkillVersion:
    versions = {item.version: item for item in await get_versions(skill.slug)}
    gone = next((mark for mark in skill.deleted if mark.version == version), None)
    if gone and version not in versions:
        raise SkillDeleted(f"{skill.slug} {version} was deleted: {gone.reason}")
    if version not in versions:
        raise no_such_version(skill.slug, version, versions)
    return versions[version]


async def open_version(skill: PublishedSkill, version: str | None = None) -> FoundVersion:
    """Return the requested version, or else the latest; if all are yanked, the newest of them.

    Viewing is not installing, so a skill without available versions can still be viewed.
    """
    if version is None and skill.latest_number is None:
        left = await get_versions(skill.slug)
        version = left[-1].version if left else None
    return await find_version(skill.slug, version)


class VersionStatus(StrEnum):
    #: Installed by default.
    LATEST = "latest"
    #: The API has said "offered" since its first release.
    AVAILABLE = "offered"
    #: Only installable by exact version.
    YANKED = "yanked"
    #: Not installable.
    BLOCKED = "blocked"
    TAKEN_DOWN = "taken down"


class VersionRow(msgspec.Struct, frozen=True, kw_only=True):
    version: SkillVersion
    #: "standing" in JSON, as in the API.
    status: VersionStatus = msgspec.field(name="standing")
    #: Why it is not available; empty if it is.
    reason: str = ""
    #: The reviewer who approved it, if any.
    approved_by: str | None = None
    #: The scan's verdict on its content; None if the report is no longer stored.
    verdict: Verdict | None = None
    #: Why it should no longer be used, whether it is available or not.
    deprecation: Deprecation | None = None


class SkillVersions(msgspec.Struct, frozen=True, kw_only=True):
    skill: PublishedSkill
    trust: TrustScore
    #: Newest first.
    versions: tuple[VersionRow, ...]


async def list_versions(slug: str) -> SkillVersions:
    skill, versions = await _get_all(slug)
    histories = await get_histories(list({version.submission_id for version in versions}))
    reports = await read_report_marks_on(
        {(version.submission_id, version.digest) for version in versions}
    )
    rows = [
        msgspec.structs.replace(
            await _row(skill, version),
            approved_by=find_reviewer(histories[version.submission_id], version),
            verdict=_verdict(reports.get((version.submission_id, version.digest))),
            deprecation=skill.deprecation_of(version.number),
        )
        for version in reversed(versions)
    ]
    trust = await trust_of_skill(skill)
    return SkillVersions(skill=skill, trust=trust, versions=tuple(rows))


def _verdict(report: ReportMark | None) -> Verdict | None:
    return report.verdict if report else None


async def diff_of_skill(
    slug: str, old: str | None, new: str | None, *, with_blocked: bool = False
) -> VersionDiff:
    """Compare two versions; by default the newest and the one before it.

    A diff contains lines of both versions, so only operators may compare blocked versions.
    """
    skill, versions = await _get_all(slug)
    by_version = {item.version: item for item in versions}
    for wanted in (old, new):
        if wanted and wanted not in by_version:
            raise no_such_version(skill.slug, wanted, by_version)
    blocked = {} if with_blocked else await _blocked(versions)
    shown = [item for item in versions if item.digest not in blocked]
    after = by_version[new] if new else (shown or versions)[-1]
    earlier = [item for item in shown if versions.index(item) < versions.index(after)]
    if not old and not earlier:
        raise NotFound(f"{skill.slug} {after.version} is the first version")
    before = by_version[old] if old else earlier[-1]
    for item in (before, after):
        if item.digest in blocked:
            raise NotAllowed(f"{skill.slug} {item.version} is {blocked[item.digest]}")
    return await diff_versions(before, after)


async def _blocked(versions: list[SkillVersion]) -> dict[str, str]:
    """Return why the content of some versions is blocked, by digest."""
    blocks = await get_blocks([BlockSubject(BlockKind.DIGEST, item.digest) for item in versions])
    return {found.record.subject.value: why_blocked(found.record) for found in blocks}


async def _get_all(slug: str) -> tuple[PublishedSkill, list[SkillVersion]]:
    stored = await get_skill(await resolve_slug(slug))
    versions = await get_versions(stored.record.slug) if stored else []
    if stored is None or not versions:
        raise NotFound(f"there is no published skill {slug!r}")
    return stored.record, versions


async def _row(skill: PublishedSkill, version: SkillVersion) -> VersionRow:
    if skill.down:
        return VersionRow(
            version=version, status=VersionStatus.TAKEN_DOWN, reason=skill.down.reason
        )
    blocks = await get_blocks([BlockSubject(BlockKind.DIGEST, version.digest)])
    if blocks:
        why = why_blocked(blocks[0].record)
        return VersionRow(version=version, status=VersionStatus.BLOCKED, reason=why)
    if yank := skill.yank_of(version.number):
        return VersionRow(version=version, status=VersionStatus.YANKED, reason=yank.reason)
    is_latest = version.number == skill.latest_number
    return VersionRow(
        version=version, status=VersionStatus.LATEST if is_latest else VersionStatus.AVAILABLE
    )
