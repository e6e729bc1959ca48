"""Digests of a version in the formats of other clients: its zip, and its commit in git.

They are computed and stored when a version is published, so that lists of all skills need no
archive. Versions from older releases get them when they are first needed.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.base.telemetry import get_logger
from vskill_platform.errors import RecordMalformed
from vskill_platform.model.skill import DeletedVersion, PublishedSkill, SkillVersion
from vskill_platform.publish.versions.git_objects import (
    GitObject,
    TreeFile,
    build_commit,
    build_folder,
    build_tree,
)
from vskill_platform.publish.versions.version_files import unpack_all
from vskill_platform.publish.versions.zip_archive import repack_as_zip
from vskill_platform.stores.db import commit
from vskill_platform.stores.skill_store import get_skill, write_skill
from vskill_platform.stores.version_store import complete_version, get_archive, get_stored_versions

log = get_logger(__name__)

#: The folder of a plugin that contains the skill, if the skill is not the plugin itself.
PLUGIN_FOLDER = "skill"
#: Files and folders of the agent-skills specification, and common ones of any project.
_PLAIN = frozenset(
    {
        "SKILL.md", "scripts", "references", "assets",
        "CHANGELOG.md", "LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE", "README.md",
    }
)  # fmt: skip


async def with_digests(
    version: SkillVersion, archive: bytes, *, parent: str | None
) -> SkillVersion:
    """Return the version with the digests of its zip and its commit."""
    return await in_few_threads(_compute, version, archive, parent)


def _compute(version: SkillVersion, archive: bytes, parent: str | None) -> SkillVersion:
    made = git_version(version, archive, parent=parent)
    zipped = hashlib.sha256(repack_as_zip(archive)).hexdigest()
    return msgspec.structs.replace(
        version, zip_sha256=zipped, git_commit=made.commit, plugin_commit=made.plugin_commit
    )


class GitVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version in git."""

    objects: list[GitObject]
    commit: str
    #: The commit to install as a plugin; empty if it is the same.
    plugin_commit: str


def git_version(version: SkillVersion, archive: bytes, *, parent: str | None) -> GitVersion:
    files = {
        path: TreeFile(content, is_executable)
        for path, content, is_executable in unpack_all(archive)
    }
    objects = list(build_tree(files))
    tree = objects[-1].id
    make_commit = partial(
        build_commit, version=version.version, digest=version.digest, at=version.published_at
    )
    commit = make_commit(tree, parent=parent)
    objects.append(commit)
    if _is_plain(files):
        return GitVersion(objects=objects, commit=commit.id, plugin_commit="")
    wrapped = build_folder(PLUGIN_FOLDER, tree)
    plugin = make_commit(wrapped.id, parent=None)
    objects += [wrapped, plugin]
    return GitVersion(objects=objects, commit=commit.id, plugin_commit=plugin.id)


def _is_plain(paths: Iterable[str]) -> bool:
    """Return whether a skill can be installed as a plugin without a change of meaning.

    Some names at the root of a plugin have a meaning for agents: they run `hooks/hooks.json` and
    the servers of `.mcp.json` without being asked. So a skill with unusual files is placed in a
    folder of the plugin.
    """
    return {path.partition("/")[0] for path in paths} <= _PLAIN


async def parent_commit(
    versions: Sequence[SkillVersion], skill: PublishedSkill | None
) -> str | None:
    """Return the parent commit of the next version, deleted or not; None for the first."""
    if skill and (mark := deleted_before(skill, skill.versions + 1)):
        return mark.git_commit or None
    if not versions:
        return None
    # In the order of publication, so that a commit never gets another parent.
    newest = max(versions, key=lambda item: item.number)
    if newest.git_commit is None:
        completed = await complete_versions(newest.slug)
        return completed[-1].git_commit if completed else None
    return newest.git_commit


def deleted_before(skill: PublishedSkill, number: int) -> DeletedVersion | None:
    """Return the deleted version just before this one; None if that one was not deleted."""
    return next((mark for mark in skill.deleted if mark.number == number - 1), None)


async def complete_versions(slug: str) -> list[SkillVersion]:
    """Return the versions of a skill with their digests; compute and store missing ones.

    A version whose archive is missing or damaged is left out.
    """
    stored = await get_stored_versions(slug)
    versions: list[SkillVersion] = []
    operations = []
    for item in stored:
        version = item.record
        if version.zip_sha256 is None or version.git_commit is None:
            archive = await _find_archive(version)
            if archive is None:
                continue
            parent = versions[-1].git_commit if versions else None
            version = await with_digests(version, archive, parent=parent)
            operations.append(complete_version(item.record, version, revision=item.revision))
        versions.append(version)
    if operations and (skill := await get_skill(slug)):
        # Write the skill unchanged, so that the search index reads it again.
        unchanged = write_skill(skill.record, expected=skill.revision)
        if await commit([*operations, unchanged]) is None:
            log.info("digests not stored: the skill was changed in the meantime", slug=slug)
    return versions


async def _find_archive(version: SkillVersion) -> bytes | None:
    try:
        archive = await get_archive(version.archive_sha256)
    except RecordMalformed:  # already logged
        return None
    if archive is None:
        log.error("archive is missing", slug=version.slug, version=version.version)
    return archive
