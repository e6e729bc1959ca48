"""JSON of skills, with the field names that existing clients read."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from vskill_platform.model.skill import Deprecation
from vskill_platform.model.trust import TrustTier
from vskill_platform.web.http.api_types import Shape, Text
from vskill_platform.web.submissions.shapes import ScanItem

#: The first two names are ours; existing clients know the others.
_CERT_TIERS = {
    TrustTier.BLOCKED: "BLOCKED",
    TrustTier.UNVERIFIED: "UNVERIFIED",
    TrustTier.SCANNED: "SCANNED",
    TrustTier.JUDGED: "VERIFIED",
    TrustTier.CERTIFIED: "CERTIFIED",
}


def cert_tier(tier: TrustTier) -> str:
    return _CERT_TIERS[tier]


def cert_method(tier: TrustTier, *, is_reviewed: bool) -> str:
    """Return how the tier was reached; empty for the lowest tiers."""
    if tier in {TrustTier.BLOCKED, TrustTier.UNVERIFIED}:
        return ""
    if is_reviewed:
        return "MANUAL_REVIEW"
    return "LLM_JUDGE" if tier is TrustTier.JUDGED else "AUTOMATED_SCAN"


class Deprecated(Shape, frozen=True, kw_only=True):
    """A skill or version that should no longer be used."""

    message: str
    #: The slug of the skill to use instead; null if there is none.
    use_instead: str | None


def deprecated_json(found: Deprecation | None) -> Deprecated | None:
    return Deprecated(message=found.reason, use_instead=found.use or None) if found else None


class SkillItem(Shape, frozen=True, kw_only=True):
    """A row of a list or a search."""

    slug: str
    name: str
    display_name: str
    author: str
    description: str
    repo_url: str
    owner_slug: str
    repo_slug: str
    skill_slug: str
    #: None if all versions are yanked.
    current_version: str | None
    yanked: bool
    #: Null if its latest version is not deprecated.
    deprecated: Deprecated | None = None
    cert_tier: str
    trust_tier: str
    trust_score: int
    tags: tuple[str, ...]
    agents: tuple[str, ...]
    #: Some of network, secrets, shell, files, installs; null if they were not recorded.
    capabilities: tuple[str, ...] | None = None
    license: str | None
    vskill_installs: int
    is_blocked: bool = False
    is_tainted: bool = False
    is_private: bool = False
    threat_type: str | None = None
    severity: str | None = None
    published_at: datetime
    updated_at: datetime


class Paging(Shape, frozen=True, kw_only=True):
    page: int
    limit: int
    total: int
    total_pages: int
    has_more: bool


class SearchResponse(Shape, frozen=True, kw_only=True):
    results: list[SkillItem]
    total: int
    #: exact, corrected (a typo), or any (one of the words is enough).
    match: str = "exact"
    #: The words that were searched for instead of `q`, if it matched nothing.
    searched_for: str | None = None
    pagination: Paging
    next_cursor: str | None = None


class SkillListResponse(Shape, frozen=True, kw_only=True):
    skills: list[SkillItem]
    #: exact, corrected (a typo), or any (one of the words is enough).
    match: str = "exact"
    #: The words that were searched for instead of `q`, if it matched nothing.
    searched_for: str | None = None
    pagination: Paging
    facets: dict[str, list[tuple[str, int]]] | None = None
    next_cursor: str | None = None


class SkillDetail(Shape, frozen=True, kw_only=True):
    slug: str
    name: str
    author: str
    description: str
    repo_url: str
    skill_path: str
    #: None if all versions are yanked.
    current_version: str | None
    version: str
    #: Digest of the content.
    sha: str
    archive_sha256: str
    commit_sha: str | None
    license: str | None
    #: The SKILL.md of the version.
    content: str
    cert_tier: str
    cert_score: int
    trust_tier: str
    trust_score: int
    trust: tuple[str, ...]
    provenance_verified: bool
    vskill_installs: int
    is_private: bool
    tags: tuple[str, ...]
    agents: tuple[str, ...]
    published_at: datetime
    updated_at: datetime
    #: Reason if the version is yanked, else None.
    yanked: str | None = None
    #: Null if the version is not deprecated.
    deprecated: Deprecated | None = None
    #: The scan's verdict on this version: pass, review or block; null if its report is gone.
    verdict: str | None
    #: The capabilities of this version by kind; null if an older release published it.
    capabilities: dict[str, tuple[str, ...]] | None
    file_count: int


class SkillResponse(Shape, frozen=True, kw_only=True):
    skill: SkillDetail


class VersionItem(Shape, frozen=True, kw_only=True):
    version: str
    #: Its VersionStatus; the name is part of the API.
    standing: str
    reason: str
    content_hash: str
    archive_sha256: str
    git_sha: str | None
    created_at: datetime
    cert_tier: str
    #: Only for the latest version.
    cert_score: int | None
    cert_method: str
    #: The reviewer who approved this version, if any.
    approved_by: str | None
    #: Changes since the previous version.
    diff_summary: str
    #: The scan's verdict: pass, review or block; null if the report is gone.
    verdict: str | None
    #: The capabilities of the version by kind; null if an older release published it.
    capabilities: dict[str, tuple[str, ...]] | None
    file_count: int
    #: Null if the version is not deprecated.
    deprecated: Deprecated | None = None
    content: str | None = None


class VersionList(Shape, frozen=True, kw_only=True):
    versions: list[VersionItem]
    count: int
    next_cursor: str | None = None


class DiffResponse(Shape, frozen=True, kw_only=True):
    from_: str = msgspec.field(name="from")
    to: str
    diff_summary: str
    content_diff: str
    gained: dict[str, tuple[str, ...]] | None


class ComparedFile(Shape, frozen=True, kw_only=True):
    filename: str
    status: str
    additions: int
    deletions: int
    patch: str
    note: str


class CompareResponse(Shape, frozen=True, kw_only=True):
    source: str
    files: list[ComparedFile]


class FileItem(Shape, frozen=True, kw_only=True):
    path: str
    size: int
    sha256: str
    is_executable: bool


class FileList(Shape, frozen=True, kw_only=True):
    version: str
    digest: str
    files: list[FileItem]


class FileContent(Shape, frozen=True, kw_only=True):
    path: str
    size: int
    sha256: str
    #: `utf-8`, or `base64` for binary files.
    encoding: str
    content: str


class ProviderItem(Shape, frozen=True, kw_only=True):
    provider: str
    status: str
    verdict: str
    critical_count: int
    note: str = ""


class SecurityResponse(Shape, frozen=True, kw_only=True):
    overall_verdict: str
    providers: list[ProviderItem]
    report_url: str
    version: str
    report: ScanItem | None


class HealthResponse(Shape, frozen=True, kw_only=True):
    status: str
    #: None if not checked yet.
    checked_at: datetime | None
    last_commit_at: datetime | None
    has_moved: bool
    note: str


class InstalledSkill(Shape, frozen=True, kw_only=True):
    name: Text
    current_version: Text = ""
    sha: Text | None = None


class CheckUpdates(Shape, frozen=True, kw_only=True):
    skills: Annotated[list[InstalledSkill], msgspec.Meta(max_length=100)]
    platform: Text = ""
    cli_version: Text = ""


class UpdateItem(Shape, frozen=True, kw_only=True):
    name: str
    installed: str
    latest: str | None
    update_available: bool
    version_bump: str | None = None
    cert_tier: str | None = None
    cert_score: int | None = None
    tracked_for_updates: bool = False
    slug: str | None = None
    #: When the latest version was published.
    published_at: datetime | None = None


class UpdatesResponse(Shape, frozen=True, kw_only=True):
    results: list[UpdateItem]


class Suggested(Shape, frozen=True, kw_only=True):
    suggestions: list[dict[str, Any]]
