"""A published skill, its versions, and how they are numbered."""

import re
from datetime import datetime

import msgspec

from vskill_platform.model.record import Record

_SEMVER = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
FIRST_VERSION = "1.0.0"


class SkillManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a SKILL.md says of itself."""

    name: str
    description: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


class PublishedSkill(Record, frozen=True, kw_only=True):
    slug: str
    name: str
    description: str
    repo_url: str
    skill_path: str
    #: The source that owns this slug; another one cannot publish under it.
    source_key: str
    submission_id: str
    version: str
    #: How many versions there are; the latest has this number.
    versions: int
    digest: str
    published_at: datetime
    checked_at: datetime
    license: str | None = None


class PublishedSkillSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a list: what is missing in the record has a stand-in."""

    slug: str
    name: str
    repo_url: str
    description: str
    version: str


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


def next_version(latest: str | None, wished: str | None) -> str:
    """Number new content: as the author wishes if that is a step forward, else one patch on."""
    if wished and parse_version(wished) and (latest is None or _is_greater(wished, latest)):
        return wished
    if latest is None:
        return FIRST_VERSION
    major, minor, patch = parse_version(latest) or (0, 0, 0)
    return f"{major}.{minor}.{patch + 1}"


def parse_version(text: str) -> tuple[int, int, int] | None:
    found = _SEMVER.fullmatch(text)
    if not found:
        return None
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch


def _is_greater(wished: str, latest: str) -> bool:
    return (parse_version(wished) or (0, 0, 0)) > (parse_version(latest) or (0, 0, 0))
