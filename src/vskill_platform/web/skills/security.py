"""The security report of a version, as a page and over the API."""

from typing import Annotated

from litestar.params import FromPath, QueryParameter
from litestar.response import Template

from vskill_platform.errors import NotAllowed
from vskill_platform.model.failure import results_in
from vskill_platform.model.scanner import ExternalScanStatus
from vskill_platform.model.skill import PublishedSkill
from vskill_platform.model.verdict import FindingKind, Severity, Verdict
from vskill_platform.publish.versions.find_version import open_version
from vskill_platform.publish.versions.security_report import (
    FindingInContext,
    SecurityReport,
    security_report,
)
from vskill_platform.scan.scan_skill import SCANNER
from vskill_platform.stores.external_scan_store import ExternalScan
from vskill_platform.stores.repo_health_store import view_repo_health
from vskill_platform.web.html.findings import ShownFinding
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.urls import line_url, skill_url
from vskill_platform.web.skills.open_skill import OpenSkill, skill_page
from vskill_platform.web.skills.shapes import HealthResponse, ProviderItem, SecurityResponse
from vskill_platform.web.skills.slugs import find_listed, find_skill, slug_of
from vskill_platform.web.submissions.submission_json import scan_item

#: Statuses for which existing clients use another name.
_STATUS_NAMES = {ExternalScanStatus.RUNNING: "PENDING", ExternalScanStatus.ERROR: "TIMED_OUT"}


async def skill_security(request: WebRequest, opened: OpenSkill) -> Template:
    found = await security_report(opened.version)
    return await skill_page(
        request,
        opened,
        "pages/skill_security.html",
        "security",
        security=found,
        findings=[_shown_finding(item, opened) for item in found.findings],
        formal=[_shown_finding(item, opened) for item in found.formal],
    )


def _shown_finding(found: FindingInContext, opened: OpenSkill) -> ShownFinding:
    item, link = found.finding, ""
    if found.has_file and item.file:
        link = line_url(opened.skill.slug, item.file, item.line, opened.version_in_links)
    lines = tuple((line.number, line.text, line.is_it) for line in found.lines)
    return ShownFinding(item, lines, link)


async def show_security(
    request: WebRequest,
    slug: FromPath[str],
    version: Annotated[str | None, QueryParameter(max_length=100)] = None,
) -> SecurityResponse:
    """Show the results of all scanners for a version. Blocked versions have failed."""
    skill = await find_skill(request, slug_of(slug))
    try:
        opened = await open_version(skill, version)
    except NotAllowed as error:
        # Not an error, because without a result a client might install a copy from elsewhere.
        return _blocked(skill, version or skill.version, str(error))
    found = await security_report(opened.version)
    providers = [_own_provider(found), *map(_provider, found.scans)]
    has_failed = any(item.status == "FAIL" for item in providers)
    return SecurityResponse(
        overall_verdict="FAIL" if has_failed else providers[0].status,
        providers=providers,
        report_url=skill_url(skill.slug, "security"),
        version=found.version.version,
        report=scan_item(found.report) if found.report else None,
    )


async def show_repo_health(request: WebRequest, slug: FromPath[str]) -> HealthResponse:
    """Show whether the source repository still exists. An outage is UNKNOWN, never GONE."""
    health = await view_repo_health((await find_listed(request, slug)).slug)
    return HealthResponse(
        status=health.status,
        checked_at=health.checked_at if health.was_looked else None,
        last_commit_at=health.last_commit_at,
        has_moved=health.has_moved,
        note=health.note,
    )


def _blocked(skill: PublishedSkill, version: str, reason: str) -> SecurityResponse:
    provider = ProviderItem(
        provider=SCANNER, status="FAIL", verdict=Verdict.BLOCK, critical_count=1, note=reason
    )
    return SecurityResponse(
        overall_verdict="FAIL",
        providers=[provider],
        report_url=skill_url(skill.slug),
        version=version,
        report=None,
    )


def _own_provider(found: SecurityReport) -> ProviderItem:
    report = found.report
    if report is None:
        return ProviderItem(
            provider=SCANNER,
            status="PENDING",
            verdict="unknown",
            critical_count=0,
            note="the report of this version is no longer stored",
        )
    critical = sum(
        item.severity is Severity.CRITICAL and item.kind is not FindingKind.EXTERNAL
        for item in results_in(report.findings)
    )
    return ProviderItem(
        provider=report.scanner,
        status="FAIL" if report.verdict is Verdict.BLOCK else "PASS",
        verdict=report.verdict,
        critical_count=critical,
    )


def _provider(scan: ExternalScan) -> ProviderItem:
    return ProviderItem(
        provider=scan.provider,
        status=_STATUS_NAMES.get(scan.status, scan.status),
        verdict=scan.status,
        critical_count=sum(item.severity is Severity.CRITICAL for item in scan.findings),
        note=scan.note,
    )
