"""Delete a skill or a version with its files and reports; its name and numbers stay reserved.

Owners can delete private skills, skills that were never installed, and skills and versions from the
last 72 hours. Admins can delete anything, with a reason.
"""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from vskill_platform.base.show_text import count_of
from vskill_platform.engines.operations import Operation
from vskill_platform.errors import InvalidInput, NotAllowed, NotFound
from vskill_platform.model.skill import (
    DeletedVersion,
    PublishedSkill,
    SkillVersion,
    newest_version,
)
from vskill_platform.model.submission import SubmissionState
from vskill_platform.publish.versions.artifact_digests import complete_versions
from vskill_platform.publish.versions.choose_slug import same_content
from vskill_platform.stores.audit_store import write_audit
from vskill_platform.stores.change import PlannedChange, change
from vskill_platform.stores.db import get_now
from vskill_platform.stores.deleted_skill_store import DeletedSkill, write_deleted_skill
from vskill_platform.stores.end_submission import withdraw_deleted
from vskill_platform.stores.followed_repo_store import delete_followed_repo
from vskill_platform.stores.install_store import delete_installs, get_installs
from vskill_platform.stores.records import Stored
from vskill_platform.stores.repo_health_store import delete_repo_health
from vskill_platform.stores.scan_store import delete_report_on
from vskill_platform.stores.similarity_store import delete_similarity_record
from vskill_platform.stores.skill_store import (
    delete_skill_record,
    get_skill,
    list_aliases_of,
    resolve_slug,
    write_skill,
)
from vskill_platform.stores.source_submissions import list_undecided_of
from vskill_platform.stores.transfer_store import delete_transfer, transfer_id
from vskill_platform.stores.version_store import delete_versions, get_versions

#: How long an owner can delete a version that others have installed.
OWNER_DELETES_WITHIN = timedelta(hours=72)


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """What a deletion would remove, or has removed."""

    slug: str
    #: The deleted versions; all of them if the whole skill is deleted.
    versions: tuple[str, ...]
    is_whole_skill: bool
    #: Old slugs of the skill, which stop working.
    aliases: tuple[str, ...]
    installs: int
    bytes: int
    #: Why its owner cannot delete it; empty if that is allowed.
    refused: str = ""


async def preview_deletion(
    slug: str, version: str | None = None, *, is_decided: bool = False
) -> Deletion:
    """Return what would be deleted, without changing anything."""
    return (await _preview(slug, version, is_decided=is_decided))[1]


async def delete_skill(
    slug: str,
    version: str | None = None,
    *,
    actor: str,
    reason: str,
    is_admin: bool = False,
    is_decided: bool = False,
) -> Deletion:
    """Delete a skill, or one version of it, in one commit with its audit record.

    With *is_decided*, the deletion was allowed before and has begun, so installs since then do not
    count.
    """
    if not reason.strip():
        raise InvalidInput("a reason is required; it stays visible under the old name")
    await complete_versions(await resolve_slug(slug))  # so that later versions keep their commits

    async def plan() -> PlannedChange[Deletion]:
        stored, deletion, versions = await _preview(slug, version, is_decided=is_decided)
        if deletion.refused and not is_admin:
            raise NotAllowed(deletion.refused)
        gone = [item for item in versions if item.version in deletion.versions]
        what = deletion.slug if deletion.is_whole_skill else f"{deletion.slug} {version}"
        operations = [
            *await delete_versions(gone),
            *await _delete_reports(gone, versions),
            write_audit(
                "skill delete", what, actor=actor, reason=reason,
                outcome=f"{count_of(len(gone), 'version')} deleted",
            ),
        ]  # fmt: skip
        if deletion.is_whole_skill:
            operations += await _delete_whole(
                stored, versions, deletion, (actor, reason), is_admin=is_admin
            )
        else:
            left = [item for item in versions if item not in gone]
            operations.append(_without_version(stored, gone[0], left, (actor, reason)))
            operations += await _withdraw_reviews(stored.record, gone[0], left, (actor, reason))
        return PlannedChange(operations=operations, result=deletion)

    return await change(slug, plan)


async def _preview(
    slug: str, version: str | None, *, is_decided: bool
) -> tuple[Stored[PublishedSkill], Deletion, list[SkillVersion]]:
    stored = await get_skill(await resolve_slug(slug))
    if stored is None:
        raise NotFound(f"there is no published skill {slug!r}")
    skill, versions = stored.record, await get_versions(stored.record.slug)
    gone = [item for item in versions if version in {None, item.version}]
    if version is not None and not gone:
        raise NotFound(f"{skill.slug} has no version {version}")
    if version is not None and len(versions) == 1:
        raise InvalidInput(f"{version} is the only version of {skill.slug}; delete the skill")
    installs = (await get_installs(skill.slug)).total
    deletion = Deletion(
        slug=skill.slug,
        versions=tuple(item.version for item in gone),
        is_whole_skill=version is None,
        aliases=tuple(await list_aliases_of(skill.slug)) if version is None else (),
        installs=installs,
        bytes=sum(file.size for item in gone for file in item.files),
        refused=_why_kept(skill, gone, 0 if is_decided else installs),
    )
    return stored, deletion, versions


def _why_kept(skill: PublishedSkill, gone: Sequence[SkillVersion], installs: int) -> str:
    if skill.down:
        return f"the skill {skill.slug} was taken down, so only an admin can delete it"
    is_new = all(get_now() - item.published_at <= OWNER_DELETES_WITHIN for item in gone)
    if skill.is_private or not installs or is_new:
        return ""
    return (
        f"the skill {skill.slug} was installed {count_of(installs, 'time')}; its owner can delete "
        "only what was published in the last 72 hours; deprecate or yank it instead, or ask "
        "an admin"
    )


async def _delete_reports(
    gone: Sequence[SkillVersion], versions: Sequence[SkillVersion]
) -> list[Operation]:
    """Delete the reports, which quote the files, unless another version has the same content."""
    kept = {(one.submission_id, one.digest) for one in versions if one not in gone}
    contents = {(one.submission_id, one.digest) for one in gone} - kept
    return [
        operation
        for submission_id, digest in sorted(contents)
        for operation in await delete_report_on(submission_id, digest)
    ]


async def _delete_whole(
    stored: Stored[PublishedSkill],
    versions: Sequence[SkillVersion],
    deletion: Deletion,
    by: tuple[str, str],
    *,
    is_admin: bool,
) -> list[Operation]:
    skill, (actor, reason) = stored.record, by
    former = [home.source_key for home in skill.moved_from if home.publisher == skill.publisher]
    mark = DeletedSkill(
        slug=skill.slug,
        sources=() if is_admin else (skill.source_key, *former),
        versions=skill.versions,
        version=newest_version(versions, skill) or "",
        is_private=skill.is_private,
        reason=reason,
        by=actor,
        at=get_now(),
    )
    marks = [msgspec.structs.replace(mark, slug=slug) for slug in (skill.slug, *deletion.aliases)]
    return [
        *delete_skill_record(stored, deletion.aliases),
        *await _withdraw_undecided(skill, by),
        *(write_deleted_skill(one) for one in marks),
        *await delete_similarity_record(skill.slug),
        delete_installs(skill.slug),
        delete_followed_repo(skill.slug),
        delete_repo_health(skill.slug),
        delete_transfer(transfer_id(skill.slug)),
    ]


async def _withdraw_undecided(skill: PublishedSkill, by: tuple[str, str]) -> list[Operation]:
    """Withdraw its submissions in progress or in review, which would bring the skill back.

    A worker that is checking one finds it changed and drops the result.
    """
    actor, reason = by
    why = f"the skill {skill.slug} was deleted by {actor}: {reason}"
    operations: list[Operation] = []
    for one in await list_undecided_of(skill):
        operations += (await withdraw_deleted(one, why, actor=actor))[1]
    return operations


async def _withdraw_reviews(
    skill: PublishedSkill,
    gone: SkillVersion,
    left: Sequence[SkillVersion],
    by: tuple[str, str],
) -> list[Operation]:
    """Withdraw reviews of a deleted version's content, which an approval would publish again.

    Content that is still being checked is compared before it is published.
    """
    if any(item.digest == gone.digest for item in left):
        return []
    actor, reason = by
    operations: list[Operation] = []
    for one in await list_undecided_of(skill):
        is_held = one.record.state is SubmissionState.NEEDS_REVIEW
        if is_held and one.record.digest == gone.digest:
            why = f"{same_content(skill.slug, gone.version)} was deleted by {actor}: {reason}"
            operations += (await withdraw_deleted(one, why, actor=actor))[1]
    return operations


def _without_version(
    stored: Stored[PublishedSkill],
    gone: SkillVersion,
    left: Sequence[SkillVersion],
    by: tuple[str, str],
) -> Operation:
    actor, reason = by
    mark = DeletedVersion(
        number=gone.number,
        version=gone.version,
        git_commit=gone.git_commit or "",
        digest=gone.digest,
        reason=reason,
        by=actor,
        at=get_now(),
    )
    skill = stored.record
    changed = msgspec.structs.replace(
        skill,
        deleted=(*skill.deleted, mark),
        yanked=tuple(one for one in skill.yanked if one.number != gone.number),
        deprecated=tuple(one for one in skill.deprecated if one.number != gone.number),
    )
    latest = next((item for item in left if item.number == changed.latest_number), None)
    changed = msgspec.structs.replace(
        changed,
        version=latest.version if latest else "",
        digest=latest.digest if latest else "",
        submission_id=latest.submission_id if latest else skill.submission_id,
    )
    return write_skill(changed, expected=stored.revision)
