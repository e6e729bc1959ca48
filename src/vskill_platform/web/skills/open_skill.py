"""The shared layout of a skill's pages: header, trust, tabs."""

from typing import Any

import msgspec
from litestar.response import Template

from vskill_platform.access.namespaces import may_manage
from vskill_platform.model.mirror import is_mirrored
from vskill_platform.model.namespace import namespace_of_skill
from vskill_platform.model.skill import PublishedSkill, SkillVersion, Yank
from vskill_platform.model.trust import derive_trust
from vskill_platform.publish.versions.find_version import (
    FoundVersion,
    VersionRow,
    VersionStatus,
    list_versions,
)
from vskill_platform.publish.versions.trust_of_skill import evidence_of_version
from vskill_platform.stores.db import get_settings
from vskill_platform.stores.mirror_store import MirroredSkill, get_mirrored
from vskill_platform.stores.repo_health_store import RepoHealth, view_repo_health
from vskill_platform.stores.scan_store import get_report_on
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.skills.capabilities import capabilities_of
from vskill_platform.web.skills.checklist import checklist, verdict_in_words

#: How many versions the picker shows; the page of versions shows all.
_MAX_PICKED = 50
#: The status of versions that cannot be opened.
_CLOSED = frozenset({VersionStatus.BLOCKED, VersionStatus.TAKEN_DOWN})
_NOTES = {VersionStatus.LATEST: " (latest)", VersionStatus.YANKED: " (yanked)"}


class OpenSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A visible skill at one of its versions."""

    found: FoundVersion
    #: Whether the request names this exact version.
    is_named: bool = False
    #: The path of a file; empty for none.
    path: str = ""

    @property
    def skill(self) -> PublishedSkill:
        return self.found.skill

    @property
    def version(self) -> SkillVersion:
        return self.found.version

    @property
    def yank(self) -> Yank | None:
        return self.found.yank

    @property
    def version_in_links(self) -> str:
        """The version in links to other parts; empty for the latest."""
        return self.version.version if self.is_named else ""

    @property
    def is_latest(self) -> bool:
        return self.version.number == self.skill.latest_number

    @property
    def is_offered(self) -> bool:
        """Return whether to show the download; for a yanked version only if named exactly."""
        return self.is_named or self.yank is None


async def skill_page(
    request: WebRequest, opened: OpenSkill, template: str, tab: str, **context: Any
) -> Template:
    """Render a page of a skill; the head is the same on every tab, and about this version."""
    skill, version = opened.skill, opened.version
    report = await get_report_on(version.submission_id, version.digest)
    evidence = await evidence_of_version(skill, version, report)
    listed = await list_versions(skill.slug)
    health, mirrored = await _health(opened), await _mirrored(skill.slug)
    has_judge = bool(get_settings().judge_url)
    return Template(
        template,
        context={
            "section": "skills",
            "opened": opened,
            "skill": skill,
            "version": version,
            "at": opened.version_in_links,
            "namespace": namespace_of_skill(skill),
            "trust": derive_trust(evidence),
            "verdict": verdict_in_words(evidence),
            "checks": checklist(evidence, health, has_judge=has_judge, mirrored=mirrored),
            "health": health,
            "source_url": source_url(opened),
            "capabilities": await capabilities_of(version, report),
            "rows": listed.versions,
            "picked": _picked(
                opened, [row for row in listed.versions if row.status not in _CLOSED]
            ),
            "may_manage": await may_manage(visitor_of(request), skill),
            "tab": tab,
            "mirrored": mirrored,
            **context,
        },
    )


def _picked(opened: OpenSkill, rows: list[VersionRow]) -> list[tuple[str, str, bool]]:
    """Return the versions to choose from: the query of each, its label, and whether it is shown."""
    newest = rows[:_MAX_PICKED]
    if opened.version.number not in {row.version.number for row in newest}:
        newest += [row for row in rows if row.version.number == opened.version.number]
    return [
        (
            "" if row.status is VersionStatus.LATEST else row.version.version,
            f"{row.version.version}{_NOTES.get(row.status, '')}",
            row.version.number == opened.version.number,
        )
        for row in newest
    ]


async def _mirrored(slug: str) -> MirroredSkill | None:
    """Return where a skill is mirrored from; None if it is not."""
    stored = await get_mirrored(slug) if is_mirrored(slug) else None
    return stored.record if stored else None


def source_url(opened: OpenSkill) -> str:
    """Return the URL of the repository; empty for uploads and local folders."""
    url = opened.skill.repo_url
    return url if url.startswith(("https://", "http://")) else ""


async def _health(opened: OpenSkill) -> RepoHealth | None:
    """Return the health of the repository; None for uploads."""
    return await view_repo_health(opened.skill.slug) if source_url(opened) else None
