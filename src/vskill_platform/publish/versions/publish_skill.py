"""Prepare a publication: the skill, its version and its archive, for the last commit."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from vskill_platform.engines.operations import ABSENT, Operation
from vskill_platform.errors import SlugTaken
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.block import former_subjects
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import (
    DeletedVersion,
    PublishedSkill,
    SkillManifest,
    SkillVersion,
)
from vskill_platform.model.source import Source
from vskill_platform.model.submission import Cause, Submission, SubmissionState, move
from vskill_platform.model.verdict import Report
from vskill_platform.publish.versions.artifact_digests import parent_commit, with_digests
from vskill_platform.publish.versions.choose_slug import (
    PublishTarget,
    check_kept,
    find_open_namespace,
    find_target,
)
from vskill_platform.publish.versions.choose_version import (
    choose_version,
    find_known,
    is_older_version,
    put_in_order,
)
from vskill_platform.publish.versions.set_visibility import (
    SkillSources,
    sources_of,
    sync_visibility,
)
from vskill_platform.publish.versions.skill_records import labels, skill_record, version_record
from vskill_platform.publish.versions.version_files import package_skill
from vskill_platform.stores.blob_store import keep
from vskill_platform.stores.block_store import expect_no_blocks, expect_unblocked, get_blocks
from vskill_platform.stores.db import get_now
from vskill_platform.stores.deleted_skill_store import (
    DeletedSkill,
    replace_deleted_skill,
)
from vskill_platform.stores.end_submission import why_blocked
from vskill_platform.stores.namespace_store import claim_namespace, expect_namespace
from vskill_platform.stores.records import Stored
from vskill_platform.stores.scan_store import write_report_of_published
from vskill_platform.stores.similarity_store import (
    SimilarityRecord,
    delete_similarity_record,
    write_similarity_record,
)
from vskill_platform.stores.skill_store import (
    expect_no_alias,
    move_parts,
    write_skill,
)
from vskill_platform.stores.submission_store import write_submission
from vskill_platform.stores.upload_store import drop_upload
from vskill_platform.stores.version_store import get_versions, write_version


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    version: str
    operations: list[Operation]
    #: Whether the skill and its submission are private.
    is_private: bool
    #: Why its version is not the one that the publisher asked for; empty if it is.
    note: str = ""

    def in_words(self) -> str:
        return " ".join(filter(None, ("published as", self.slug, self.version, self.note)))


def publish(
    current: Stored[Submission],
    publication: Publication,
    report: Report,
    steps: Sequence[tuple[SubmissionState, Cause]],
) -> tuple[Submission, list[Operation]]:
    """Return the published submission, and all operations of its last commit.

    *steps* are the states it passes through, each with its cause; PUBLISHED is the last.
    """
    submission = msgspec.structs.replace(
        current.record, slug=publication.slug, is_private=publication.is_private
    )
    now, events = get_now(), []
    for state, cause in steps:
        submission, event = move(submission, state, cause, now=now)
        events.append(event)
    operations = [
        *write_submission(submission, events, expected=current.revision),
        *write_report_of_published(report),
        *publication.operations,
    ]
    return submission, operations


async def prepare_publication(
    submission: Submission,
    snapshot: Snapshot,
    manifest: SkillManifest,
    *,
    sketch: SkillSketch,
    now: datetime,
) -> Publication:
    """Return the operations that publish exactly the checked files and index them for similarity.

    The commit fails if the skill was blocked, deleted or published by someone else in the meantime.
    """
    source = submission.source
    namespace = await find_open_namespace(submission)
    target = await find_target(submission, manifest.name)
    is_private = target.is_private or submission.is_private
    is_new_secret = is_private and not target.is_private
    is_older = is_older_version(target.skill, submission)
    record = _similarity_of(target, source, sketch, now)
    always = [
        claim_namespace(namespace) if is_new_secret else expect_namespace(namespace),
        *expect_unblocked(source, name=manifest.name, digest=snapshot.digest),
        *await _expect_former_unblocked(target.skill),
        *([] if is_older else await _write_similarity(record, target, is_private=is_private)),
        *await _hide_others(target, submission, is_private=is_private),
    ]
    versions = await get_versions(target.skill.slug) if target.skill else []
    known = find_known(target.skill, versions, submission, snapshot.digest)
    if target.stored and known:
        # The content is unchanged: record the check and publish nothing.
        changes = {"checked_at": now, "down": None, "is_private": is_private, **labels(manifest)}
        again = msgspec.structs.replace(target.stored.record, **({} if is_older else changes))
        always += _stored_once(submission, known.archive_sha256)
        return _confirm(target.stored, again, known, always)
    await check_kept(target.skill, submission, snapshot.digest)
    archive = await package_skill(snapshot)
    always += _stored_once(submission, archive.sha256)
    version = version_record(snapshot, archive.sha256, submission, now, sketch)
    named = choose_version(target.skill, versions, submission, manifest, target.gone)
    version = msgspec.structs.replace(
        version, slug=target.slug, number=target.next_number, version=named.version
    )
    parent = await parent_commit(versions, target.skill)
    version = await with_digests(version, archive.content, parent=parent)
    skill = skill_record(submission, manifest, version, target.skill)
    if target.skill and source.is_pinned:
        before = target.skill if is_older else skill
        skill = put_in_order(before, versions, version)
    operations = [
        *await _write_to_target(target, msgspec.structs.replace(skill, is_private=is_private)),
        *write_version(version, await keep(archive.sha256, archive.content)),
        *always,
    ]
    return Publication(
        slug=target.slug,
        version=version.version,
        operations=operations,
        is_private=is_private,
        note=named.note,
    )


def _stored_once(submission: Submission, archive_sha256: str) -> list[Operation]:
    """Delete the upload if its bytes are stored as the archive of a version."""
    is_same = submission.source.upload_sha256 == archive_sha256
    return [drop_upload(archive_sha256)] if is_same else []


def _confirm(
    stored: Stored[PublishedSkill],
    again: PublishedSkill,
    known: SkillVersion,
    always: list[Operation],
) -> Publication:
    put = write_skill(again, expected=stored.revision)
    yanked = " (yanked)" if again.yank_of(known.number) else ""
    return Publication(
        slug=again.slug,
        version=f"{known.version}{yanked}",
        operations=[put, *always],
        is_private=again.is_private,
    )


async def _expect_former_unblocked(skill: PublishedSkill | None) -> list[Operation]:
    """Refuse to publish a skill if one of its former locations is blocked."""
    if skill is None or not skill.moved_from:
        return []
    subjects = former_subjects(skill)
    if blocks := await get_blocks(subjects):
        raise SlugTaken(f"{skill.slug} is {why_blocked(blocks[0].record)}")
    return expect_no_blocks(subjects)


async def _hide_others(
    target: PublishTarget, submission: Submission, *, is_private: bool
) -> list[Operation]:
    """Hide the submissions of other refs if this publication makes the skill private."""
    if not is_private or target.is_private:
        return []
    source = submission.source
    if target.skill:
        home = sources_of(target.skill, source=source, slug=target.slug)
    else:
        home = SkillSources(places=((source.url, source.path),), slugs=frozenset({target.slug}))
    return await sync_visibility(home, is_private=True, but=submission.id)


def _similarity_of(
    target: PublishTarget, source: Source, sketch: SkillSketch, now: datetime
) -> SimilarityRecord:
    skill = target.skill
    return SimilarityRecord(
        slug=target.slug,
        # Not the name in the manifest: after a rename, users see the new name and could confuse
        # that one.
        name=target.slug.rpartition("/")[2],
        publisher=skill.publisher or source.publisher if skill else source.publisher,
        since=skill.published_at if skill else now,
        sketch=sketch,
    )


async def _write_similarity(
    record: SimilarityRecord, target: PublishTarget, *, is_private: bool
) -> list[Operation]:
    """Update the similarity index; leave out private skills, which findings would reveal."""
    if is_private:
        return await delete_similarity_record(record.slug)
    return await write_similarity_record(record, is_new=target.stored is None)


def _with_deleted(skill: PublishedSkill, gone: Stored[DeletedSkill] | None) -> PublishedSkill:
    """Keep the last number of a deleted skill that its owner publishes again."""
    if gone is None or not gone.record.versions:
        return skill
    mark = DeletedVersion(
        number=gone.record.versions,
        version=gone.record.version,
        reason=gone.record.reason,
        by=gone.record.by,
        at=gone.record.at,
    )
    return msgspec.structs.replace(skill, deleted=(mark,))


async def _write_to_target(target: PublishTarget, skill: PublishedSkill) -> list[Operation]:
    if target.stored is None:
        marked = _with_deleted(skill, target.gone)
        return [
            write_skill(marked, expected=ABSENT),
            expect_no_alias(skill.slug),
            *replace_deleted_skill(skill.slug, target.gone),
        ]
    if target.slug == target.stored.record.slug:
        return [write_skill(skill, expected=target.stored.revision)]
    return [
        *await move_parts(target.stored, target.slug),
        *await delete_similarity_record(target.stored.record.slug),
        write_skill(skill, expected=ABSENT),
        *replace_deleted_skill(skill.slug, None),
    ]
