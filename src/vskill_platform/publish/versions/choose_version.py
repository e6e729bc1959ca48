"""Choose the number of a new version, and its position among the skill's versions.

A client can request any version of a mirrored skill, so a new version may be lower than existing
ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from vskill_platform.base.show_text import show
from vskill_platform.errors import SlugTaken
from vskill_platform.model.skill import (
    FIRST_VERSION,
    PublishedSkill,
    SkillManifest,
    SkillVersion,
    is_version,
    known_version,
    newest_version,
    next_version,
    version_key,
    version_of_tag,
)
from vskill_platform.model.source import SourceKind
from vskill_platform.model.submission import Submission
from vskill_platform.stores.deleted_skill_store import DeletedSkill
from vskill_platform.stores.records import Stored

_MAX_SHOWN = 40


def is_older_version(skill: PublishedSkill | None, submission: Submission) -> bool:
    """Return whether it is lower than the latest version, so that the latest does not change."""
    if skill is None or not submission.source.is_pinned:
        return False
    return version_key(submission.requested_version) < version_key(skill.version)


def find_known(
    skill: PublishedSkill | None,
    versions: Sequence[SkillVersion],
    submission: Submission,
    digest: str,
) -> SkillVersion | None:
    """Return the existing version that this submission only confirms."""
    if skill is None:
        return None
    if not submission.source.is_pinned:
        return known_version(skill, versions, digest)
    asked = submission.requested_version
    if any(mark.version == asked for mark in skill.deleted):
        raise SlugTaken(f"{skill.slug} {asked} was deleted, and its number cannot be used again")
    same = next((item for item in versions if item.version == asked), None)
    if same and same.digest != digest:
        raise SlugTaken(f"{skill.slug} has another version {asked}, with other content")
    return same


class NewVersion(NamedTuple):
    version: str
    #: Why the version that the publisher asked for was not used; empty if it was.
    note: str = ""


def choose_version(
    skill: PublishedSkill | None,
    versions: Sequence[SkillVersion],
    submission: Submission,
    manifest: SkillManifest,
    gone: Stored[DeletedSkill] | None,
) -> NewVersion:
    """Return the version of new content; *gone* is the skill that was deleted under its slug."""
    source = submission.source
    if source.is_pinned and gone is None:
        return NewVersion(submission.requested_version)
    deleted = gone.record.version or None if gone else None
    newest = newest_version(versions, skill) or deleted
    requested = submission.requested_version or manifest.metadata.get("version")
    tagged = version_of_tag(source.ref) if source.kind is SourceKind.GIT else None
    version = next_version(newest, requested, tagged)
    if not requested or version in {requested, tagged}:
        return NewVersion(version)
    why = (
        f"which is not higher than {newest}"
        if newest and is_version(requested)
        else f"which is not a version such as {FIRST_VERSION}"
    )
    return NewVersion(version, f"instead of {show(requested, limit=_MAX_SHOWN)}, {why}")


def put_in_order(
    skill: PublishedSkill, versions: Sequence[SkillVersion], new: SkillVersion
) -> PublishedSkill:
    """Add a new version to a skill; it may be lower than existing ones."""
    named = [(item.number, item.version) for item in (*versions, new)]
    named += [(mark.number, mark.version) for mark in skill.deleted]
    ordered = sorted(named, key=lambda item: version_key(item[1]))
    order = tuple(number for number, _ in ordered)
    return msgspec.structs.replace(skill, versions=new.number, order=order)
