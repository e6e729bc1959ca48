"""A published skill, its versions, and how they are numbered."""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from vskill_platform.model.record import Reasoned, Record

_SEMVER = re.compile(r"(0|[1-9]\d{0,29})\.(0|[1-9]\d{0,29})\.(0|[1-9]\d{0,29})", re.ASCII)
#: A wish with more digits in one number is none: nobody means it, and not every client reads it.
_MAX_WISHED = 10**9
FIRST_VERSION = "1.0.0"


class SkillManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a SKILL.md says of itself."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


class Yank(Reasoned, msgspec.Struct, frozen=True, kw_only=True):
    """A version that is no longer offered; who names it exactly still gets it."""

    number: int
    reason: str
    by: str
    at: datetime


class TakenDown(Reasoned, msgspec.Struct, frozen=True, kw_only=True):
    """Why a skill is no longer offered at all; what it was stays for reviewers."""

    reason: str
    by: str
    at: datetime


class PublishedSkill(Record, frozen=True, kw_only=True):
    slug: str
    name: str
    description: str
    repo_url: str
    skill_path: str
    #: The source that owns this slug; another one cannot publish under it.
    source_key: str
    #: Who answers for it; empty if an older release published it.
    publisher: str = ""
    submission_id: str
    #: The latest that is offered, and its content; empty if every version is yanked.
    version: str
    #: How many versions there are; the newest has this number.
    versions: int
    digest: str
    published_at: datetime
    checked_at: datetime
    license: str | None = None
    #: What it is about, as its author says; model/labels.py reads them from the manifest.
    tags: tuple[str, ...] = ()
    #: The agents that it says it is for; empty for all.
    agents: tuple[str, ...] = ()
    #: What it needs, in its author's words.
    compatibility: str | None = None
    yanked: tuple[Yank, ...] = ()
    #: None while it is listed. Only a publication, so a fresh check, brings it back.
    down: TakenDown | None = None
    #: Whether only those of its namespace, reviewers and admins know of it.
    is_private: bool = False

    @property
    def offered(self) -> int | None:
        """The number of the latest version that is not yanked; None if there is none."""
        yanked = {yank.number for yank in self.yanked}
        return next((n for n in range(self.versions, 0, -1) if n not in yanked), None)

    def yank_of(self, number: int) -> Yank | None:
        return next((yank for yank in self.yanked if yank.number == number), None)


class PublishedSkillSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list: what is missing in the record has a stand-in."""

    slug: str
    name: str
    repo_url: str
    description: str
    version: str
    is_private: bool = False


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    size: int
    sha256: str
    is_executable: bool


class SkillVersion(Record, frozen=True, kw_only=True):
    """One published state of a skill; never changed."""

    slug: str
    number: int
    version: str
    #: Names the content: the same files give the same digest.
    digest: str
    files: tuple[SkillFile, ...]
    archive_sha256: str
    commit_sha: str | None
    submission_id: str
    published_at: datetime
    #: What it can do, by kind; None if an older release published it and did not write it down.
    capabilities: dict[str, tuple[str, ...]] | None = None


def known_version(
    skill: PublishedSkill, versions: Sequence[SkillVersion], digest: str
) -> SkillVersion | None:
    """Return which version this content is, so that the same never makes another one.

    That is the latest, or one that was yanked: it does not come back under a new number. An older
    one that is still offered may be gone back to, and that is a step forward.
    """
    for version in reversed(versions):
        is_latest = version.number == skill.offered
        if version.digest == digest and (is_latest or skill.yank_of(version.number)):
            return version
    return None


def next_version(newest: str | None, wished: str | None) -> str:
    """Number new content: as the author wishes if that is a step forward, else one patch on."""
    known = parse_version(newest) if newest else None
    wish = parse_version(wished) if wished else None
    if wished and wish and max(wish) < _MAX_WISHED and (known is None or wish > known):
        return wished
    if known is None:
        return FIRST_VERSION
    major, minor, patch = known
    return f"{major}.{minor}.{patch + 1}"


def parse_version(text: str) -> tuple[int, int, int] | None:
    found = _SEMVER.fullmatch(text)
    if not found:
        return None
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch
