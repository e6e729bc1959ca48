"""The state of a skill's git repository: its versions, and a digest of them."""

import hashlib

import msgspec

from vskill_platform.errors import NotFound
from vskill_platform.model.block import BlockKind, BlockSubject
from vskill_platform.model.skill import PublishedSkill, SkillVersion
from vskill_platform.publish.versions.artifact_digests import (
    complete_versions,
    deleted_before,
)
from vskill_platform.stores.block_store import get_blocks

BRANCH = "refs/heads/main"


class RepoState(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository contains: its refs, and the versions behind them, oldest first."""

    slug: str
    #: Commits by the full name of their branch or tag, ordered by name.
    refs: tuple[tuple[str, str], ...]
    versions: tuple[SkillVersion, ...]
    #: The parent commit of each version; None for the first one.
    parents: tuple[str | None, ...]
    #: Commits without their parent, because it is blocked or was deleted.
    cut: tuple[str, ...]

    @property
    def folder_name(self) -> str:
        state = msgspec.json.encode((self.slug, self.refs, self.cut))
        return f"{digest_of(self.slug.encode())}-{digest_of(state)}"


async def find_state(skill: PublishedSkill) -> RepoState:
    """Return the current contents of a skill's repository, without blocked versions."""
    versions = await complete_versions(skill.slug)
    subjects = {item.digest: BlockSubject(BlockKind.DIGEST, item.digest) for item in versions}
    blocks = await get_blocks(subjects.values())
    blocked = {block.record.subject for block in blocks}
    refs: dict[str, str] = {}
    kept, parents, cut = [], [], []
    for before, version in zip([None, *versions], versions, strict=False):
        commit = version.git_commit or ""
        if subjects[version.digest] in blocked:
            continue
        refs[f"refs/tags/v{version.version}"] = commit
        if version.plugin_commit:
            refs[f"refs/plugins/v{version.version}"] = version.plugin_commit
        if version.number == skill.latest_number:
            refs[BRANCH] = commit
        kept.append(version)
        if mark := deleted_before(skill, version.number):
            parents.append(mark.git_commit or None)
            cut += [commit] if mark.git_commit else []
            continue
        if before and subjects[before.digest] in blocked:
            cut.append(commit)
        parents.append(before.git_commit if before else None)
    if not kept:
        raise NotFound(f"no version of {skill.slug} is available")
    return RepoState(
        slug=skill.slug,
        refs=tuple(sorted(refs.items())),
        versions=tuple(kept),
        parents=tuple(parents),
        cut=tuple(cut),
    )


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
