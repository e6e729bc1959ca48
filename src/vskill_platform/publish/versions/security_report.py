"""The security report of one version, each finding with the lines around it."""

from collections.abc import Iterable

import msgspec

from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.errors import NotFound
from vskill_platform.model.failure import results_in
from vskill_platform.model.skill import SkillVersion
from vskill_platform.model.verdict import Finding, FindingKind, Report, in_order
from vskill_platform.publish.versions.version_files import read_files, text_of
from vskill_platform.scan.reports.source_lines import Line, lines_of, split_text, without_secrets
from vskill_platform.stores.external_scan_store import ExternalScan, get_external_scans
from vskill_platform.stores.scan_store import get_report_on

#: No lines of larger files are shown.
_MAX_CONTEXT_BYTES = 1024 * 1024


class FindingInContext(msgspec.Struct, frozen=True, kw_only=True):
    #: With secrets redacted.
    finding: Finding
    lines: tuple[Line, ...] = ()
    #: Whether the finding's file is in this version and can be viewed.
    has_file: bool = False


class SecurityReport(msgspec.Struct, frozen=True, kw_only=True):
    version: SkillVersion
    #: The report on exactly this content; None if it is no longer stored.
    report: Report | None
    #: Security findings, most severe first; quality findings are separate.
    findings: tuple[FindingInContext, ...] = ()
    formal: tuple[FindingInContext, ...] = ()
    #: Results of third-party scanners for exactly this content.
    scans: tuple[ExternalScan, ...] = ()


async def security_report(version: SkillVersion) -> SecurityReport:
    """Build the report; results for other content do not count for this version."""
    report = await get_report_on(version.submission_id, version.digest)
    scans = await get_external_scans(version.submission_id)
    shown = await _in_context(version, in_order(results_in(report.findings))) if report else []
    return SecurityReport(
        version=version,
        report=report,
        findings=tuple(item for item in shown if item.finding.kind is not FindingKind.QUALITY),
        formal=tuple(item for item in shown if item.finding.kind is FindingKind.QUALITY),
        scans=tuple(scan for scan in scans if scan.digest == version.digest),
    )


async def _in_context(version: SkillVersion, findings: Iterable[Finding]) -> list[FindingInContext]:
    findings = list(findings)
    small = {file.path for file in version.files if file.size <= _MAX_CONTEXT_BYTES}
    wanted = {item.file for item in findings if item.file and item.line} & small
    try:
        files = await read_files(version, sorted(wanted))
    except NotFound:  # the archive is missing: show findings without lines
        files = {}
    known = {file.path for file in version.files}
    return await in_few_threads(put_in_context, findings, files, known)


def put_in_context(
    findings: list[Finding], files: dict[str, bytes], known: set[str]
) -> list[FindingInContext]:
    """Add the lines to each finding; every file is read and redacted once."""
    # A line feed at the end of a file does not begin another line.
    lines = {
        path: split_text((text_of(raw) or "").removesuffix("\n")) for path, raw in files.items()
    }
    return [
        FindingInContext(
            finding=without_secrets(item),
            lines=lines_of(lines.get(item.file or "", []), item),
            has_file=item.file in known,
        )
        for item in findings
    ]
