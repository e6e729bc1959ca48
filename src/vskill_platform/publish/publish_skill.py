"""Publishing: the skill, its version and its archive, ready for the walk's last commit."""

import hashlib
from datetime import datetime

import msgspec

from vskill_platform.engines.ports import ABSENT, Operation
from vskill_platform.errors import SlugTaken
from vskill_platform.fetch.snapshot import Snapshot
from vskill_platform.model.skill import (
    PublishedSkill,
    SkillManifest,
    SkillVersion,
    next_version,
)
from vskill_platform.model.submission import Submission
from vskill_platform.publish.package_skill import package_skill
from vskill_platform.stores.skill_store import get_skill, resolve_slug, write_skill, write_version


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    slug: str
    version: str
    operations: list[Operation]


async def prepare_publication(
    submission: Submission, snapshot: Snapshot, manifest: SkillManifest, *, now: datetime
) -> Publication:
    """Say what to write so that exactly the checked files are published."""
    slug = await resolve_slug(f"{submission.source.namespace}/{manifest.name}")
    stored = await get_skill(slug)
    latest = stored.record if stored else None
    if latest and latest.source_key != submission.source.key:
        raise SlugTaken(f"{slug} is published from {latest.repo_url} already")
    expected = stored.revision if stored else ABSENT
    if latest and latest.digest == snapshot.digest:
        # The content is what it was: it was checked again, and nothing else happened.
        again = write_skill(msgspec.structs.replace(latest, checked_at=now), expected=expected)
        return Publication(slug=slug, version=latest.version, operations=[again])
    archive = package_skill(snapshot.folder, snapshot.files)
    version = SkillVersion(
        slug=slug,
        number=latest.versions + 1 if latest else 1,
        version=next_version(latest.version if latest else None, manifest.metadata.get("version")),
        digest=snapshot.digest,
        files=snapshot.files,
        archive_sha256=hashlib.sha256(archive).hexdigest(),
        commit_sha=snapshot.commit_sha,
        submission_id=submission.id,
        published_at=now,
    )
    skill = PublishedSkill(
        slug=slug,
        name=manifest.name,
        description=manifest.description,
        license=manifest.license,
        repo_url=submission.repo_url,
        skill_path=submission.skill_path,
        source_key=submission.source.key,
        submission_id=submission.id,
        version=version.version,
        versions=version.number,
        digest=snapshot.digest,
        published_at=latest.published_at if latest else now,
        checked_at=now,
    )
    return Publication(
        slug=slug,
        version=version.version,
        operations=[write_skill(skill, expected=expected), *write_version(version, archive)],
    )
