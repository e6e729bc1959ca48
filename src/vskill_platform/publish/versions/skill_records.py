"""The records of a skill and of its new version, as a publication writes them."""

from datetime import datetime
from typing import Any

from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.labels import agents_of, tags_of
from vskill_platform.model.similarity import SkillSketch
from vskill_platform.model.skill import (
    PublishedSkill,
    SkillManifest,
    SkillVersion,
)
from vskill_platform.model.submission import Submission


def version_record(
    snapshot: Snapshot,
    archive_sha256: str,
    submission: Submission,
    now: datetime,
    sketch: SkillSketch,
) -> SkillVersion:
    """Return a version of these files, without its target and number."""
    return SkillVersion(
        slug="",
        number=0,
        version="",
        digest=snapshot.digest,
        files=snapshot.files,
        archive_sha256=archive_sha256,
        commit_sha=snapshot.commit_sha,
        submission_id=submission.id,
        published_at=now,
        capabilities=sketch.capabilities,
    )


def skill_record(
    submission: Submission,
    manifest: SkillManifest,
    version: SkillVersion,
    before: PublishedSkill | None,
) -> PublishedSkill:
    return PublishedSkill(
        slug=version.slug,
        name=manifest.name,
        description=manifest.description,
        license=manifest.license,
        **_origin(submission, before),
        submission_id=submission.id,
        version=version.version,
        versions=version.number,
        digest=version.digest,
        published_at=before.published_at if before else version.published_at,
        checked_at=version.published_at,
        yanked=before.yanked if before else (),
        deprecated=before.deprecated if before else (),
        moved_from=before.moved_from if before else (),
        deleted=before.deleted if before else (),
        order=before.order if before else (),
        **labels(manifest),
    )


def _origin(submission: Submission, before: PublishedSkill | None) -> dict[str, Any]:
    """Return its source; a moved skill keeps the new source even if the old one publishes."""
    if before and before.source_key != submission.source.owner_key:
        names = ("repo_url", "skill_path", "source_key", "publisher")
        return {name: getattr(before, name) for name in names}
    return {
        "repo_url": submission.repo_url,
        "skill_path": submission.skill_path,
        "source_key": submission.source.owner_key,
        "publisher": submission.source.publisher,
    }


def labels(manifest: SkillManifest) -> dict[str, Any]:
    """Return the labels for which a skill is found."""
    return {
        "tags": tags_of(manifest),
        "agents": agents_of(manifest),
        "compatibility": manifest.compatibility,
    }
