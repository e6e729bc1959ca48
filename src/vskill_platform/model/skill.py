"""A published skill, its versions, and how they are numbered."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from vskill_platform.errors import NotFound
from vskill_platform.model.record import Reasoned, Record

_SEMVER = re.compile(r"(0|[1-9]\d{0,29})\.(0|[1-9]\d{0,29})\.(0|[1-9]\d{0,29})", re.ASCII)
#: A requested version with more digits is ignored: not every client can parse it.
_MAX_REQUESTED = 10**9
#: A tag that names a version, unlike `nightly`, `20270101` or `v2.0.0-rc.1`.
_VERSION_TAG = re.compile(r"(?:v|(?=\d+\.))(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?", re.ASCII)
FIRST_VERSION = "1.0.0"
#: How many versions an error lists.
_MAX_LISTED = 6
#: What a skill can do, by kind: the hosts it contacts, the commands it runs, and so on.
Capabilities = dict[str, tuple[str, ...]]
#: Capabilities as pages and filters name them, each with its kinds.
CAPABILITY_KINDS: dict[str, tuple[str, ...]] = {
    "network": ("hosts", "listens"),
    "secrets": ("secrets",),
    "shell": ("commands",),
    "files": ("writes",),
    "installs": ("installs",),
}


def group_by_capability(found: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Group values by the names in CAPABILITY_KINDS; kinds of a newer release keep theirs."""
    known = {kind for kinds in CAPABILITY_KINDS.values() for kind in kinds}
    grouped = {
        name: tuple(value for kind in kinds for value in found.get(kind, ()))
        for name, kinds in CAPABILITY_KINDS.items()
    }
    others = {kind: tuple(values) for kind, values in found.items() if kind not in known}
    return {name: values for name, values in (grouped | others).items() if values}


def capability_names(found: Capabilities) -> tuple[str, ...]:
    """Return which of the capabilities in CAPABILITY_KINDS are among *found*."""
    return tuple(
        name for name, kinds in CAPABILITY_KINDS.items() if any(found.get(kind) for kind in kinds)
    )


class SkillManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a SKILL.md."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


class Yank(Reasoned, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A yanked version: still installable by exact version."""

    number: int
    reason: str
    by: str
    at: datetime
    #: Whether staff yanked it: the owners of the namespace can appeal that, but not undo it.
    is_by_staff: bool = False


class Deprecation(Reasoned, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skill or a version that should no longer be used: still available, with a warning."""

    #: The version; None for the whole skill, with its later versions.
    number: int | None
    #: Shown to everyone who finds or installs it.
    reason: str
    #: The slug of the skill to use instead; empty for none.
    use: str = ""
    by: str
    at: datetime

    @property
    def words(self) -> str:
        return f"{self.reason} (use {self.use} instead)" if self.use else self.reason


class TakenDown(Reasoned, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a skill was taken down; reviewers can still see its content."""

    reason: str
    by: str
    at: datetime


class DeletedVersion(
    Reasoned, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What is kept of a deleted version; its number is never used again."""

    number: int
    version: str
    #: Its commit, which the next version follows in git; empty if it had none.
    git_commit: str = ""
    #: The digest of its content; empty if an older release deleted it.
    digest: str = ""
    reason: str
    by: str
    at: datetime


class FormerLocation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a skill was before someone renamed or transferred it."""

    slug: str
    repo_url: str
    skill_path: str
    publisher: str
    by: str
    at: datetime

    @property
    def source_key(self) -> str:
        return f"{self.repo_url}#{self.skill_path}"


class PublishedSkill(Record, frozen=True, kw_only=True):
    slug: str
    name: str
    description: str
    repo_url: str
    skill_path: str
    #: The source that owns this slug; another one cannot publish under it.
    source_key: str
    #: Its publisher; empty if an older release published it.
    publisher: str = ""
    submission_id: str
    #: The latest available version and its content; empty if every version is yanked.
    version: str
    #: How many versions were ever published, which is also the number of the newest one.
    versions: int
    digest: str
    published_at: datetime
    checked_at: datetime
    license: str | None = None
    #: Its tags; model/labels.py reads them from the manifest.
    tags: tuple[str, ...] = ()
    #: The agents it supports; empty for all.
    agents: tuple[str, ...] = ()
    #: Its requirements, as written by the author.
    compatibility: str | None = None
    yanked: tuple[Yank, ...] = ()
    deprecated: tuple[Deprecation, ...] = ()
    deleted: tuple[DeletedVersion, ...] = ()
    #: Version numbers from the lowest version to the highest, if some were published out of order;
    #: numbers missing here were published later and are higher.
    order: tuple[int, ...] = ()
    #: None while it is listed. Only a new publication, after a new check, lists it again.
    down: TakenDown | None = None
    #: Whether only namespace members, reviewers and admins see it.
    is_private: bool = False
    #: Oldest first. Blocks of a former location still apply, so that a transfer cannot evade them.
    moved_from: tuple[FormerLocation, ...] = ()

    def accepts(self, source_key: str) -> bool:
        """Return whether a source publishes this skill: its own, or its publisher's earlier one."""
        former = {home.source_key for home in self.moved_from if home.publisher == self.publisher}
        return source_key == self.source_key or source_key in former

    @property
    def latest_number(self) -> int | None:
        """The number of the latest version that is not yanked; None if there is none."""
        yanked = {yank.number for yank in self.yanked} | {mark.number for mark in self.deleted}
        later = [n for n in range(1, self.versions + 1) if n not in set(self.order)]
        return next((n for n in reversed((*self.order, *later)) if n not in yanked), None)

    def yank_of(self, number: int) -> Yank | None:
        return next((yank for yank in self.yanked if yank.number == number), None)

    def deprecation_of(self, number: int | None) -> Deprecation | None:
        """Return the deprecation of a version, or else that of the whole skill."""
        by_number = {mark.number: mark for mark in self.deprecated}
        return by_number.get(number) or by_number.get(None)


class PublishedSkillSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list; fields missing in the record have defaults."""

    slug: str
    name: str
    repo_url: str
    description: str
    version: str
    is_private: bool = False


class SkillFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    size: int
    sha256: str
    is_executable: bool


class SkillVersion(Record, frozen=True, kw_only=True):
    """One published version of a skill; immutable."""

    slug: str
    number: int
    version: str
    #: Identifies the content: the same files have the same digest.
    digest: str
    files: tuple[SkillFile, ...]
    archive_sha256: str
    commit_sha: str | None
    submission_id: str
    published_at: datetime
    #: Its capabilities by kind; None if an older release published it without them.
    capabilities: Capabilities | None = None
    #: Digest of the version as a zip, and its commit in the skill's git repository; None if an
    #: older release published it. publish/versions/artifact_digests.py computes them.
    zip_sha256: str | None = None
    git_commit: str | None = None
    #: The commit that is installed as a plugin; empty if it is the same.
    plugin_commit: str = ""

    @property
    def sort_key(self) -> tuple[int, int, int]:
        """Sorts versions, lowest first; a mirror may publish a lower version later."""
        return version_key(self.version)


def known_version(
    skill: PublishedSkill, versions: Sequence[SkillVersion], digest: str
) -> SkillVersion | None:
    """Return the existing version with this content, so that no second one is created.

    This is the latest version, or a yanked one: yanked content does not return under a new number.
    Going back to the content of an older available version creates a new version.
    """
    for version in reversed(versions):
        is_latest = version.number == skill.latest_number
        if version.digest == digest and (is_latest or skill.yank_of(version.number)):
            return version
    return None


def next_version(newest: str | None, *requested: str | None) -> str:
    """Return the version of new content: the first higher one requested, else the next patch."""
    known = parse_version(newest) if newest else None
    for version in requested:
        parsed = parse_version(version) if version else None
        is_valid = parsed is not None and max(parsed) < _MAX_REQUESTED
        if version and parsed and is_valid and (known is None or parsed > known):
            return version
    if known is None:
        return FIRST_VERSION
    major, minor, patch = known
    return f"{major}.{minor}.{patch + 1}"


def version_of_tag(ref: str) -> str | None:
    """Return the version that a tag names: 1.2.0 for `v1.2.0`, `1.2.0` or `v1.2`; else None."""
    found = _VERSION_TAG.fullmatch(ref)
    if not found:
        return None
    return ".".join(str(int(part or 0)) for part in found.groups())


def newest_version(versions: Sequence[SkillVersion], skill: PublishedSkill | None) -> str | None:
    """Return the highest version so far, deleted ones included, so that none is used twice."""
    names = [item.version for item in versions]
    names += [mark.version for mark in skill.deleted] if skill else []
    return max(names, key=version_key, default=None)


def no_such_version(slug: str, version: str, known: Iterable[str]) -> NotFound:
    """Return the error about a version that a skill does not have, with the newest that it has."""
    newest = sorted(known, key=version_key, reverse=True)
    older = len(newest) - _MAX_LISTED
    listed = ", ".join(newest[:_MAX_LISTED]) + (f" and {older} older" if older > 0 else "")
    return NotFound(f"{slug} has no version {version}, only {listed or 'deleted ones'}")


def version_key(version: str) -> tuple[int, int, int]:
    """Return the key by which versions are sorted."""
    return parse_version(version) or (0, 0, 0)


def is_version(text: str) -> bool:
    """Return whether the text is a version that a skill can have."""
    parsed = parse_version(text)
    return parsed is not None and max(parsed) < _MAX_REQUESTED


def parse_version(text: str) -> tuple[int, int, int] | None:
    found = _SEMVER.fullmatch(text)
    if not found:
        return None
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch


def new_capabilities(old: Capabilities, new: Capabilities) -> Capabilities:
    """Return the capabilities of the new version that the old one did not have."""
    gained = {
        kind: tuple(sorted(set(values) - set(old.get(kind, ())))) for kind, values in new.items()
    }
    return {kind: values for kind, values in gained.items() if values}
