"""Print a report from a registry in the same form as `scan`."""

import sys
from pathlib import Path

from vskill_platform.client.responses import check_shape
from vskill_platform.client.shapes import ScanReport
from vskill_platform.model.skill import Capabilities
from vskill_platform.model.unknown_fields import split_unknown
from vskill_platform.model.verdict import Finding, Verdict
from vskill_platform.scan.reports.report_text import write_text
from vskill_platform.scan.scan_many import Scanned, ScanTarget
from vskill_platform.scan.scan_skill import ScanResult

#: A folder that does not exist: lines of code are shown only if the files are on this machine.
NO_FILES = Path("/nonexistent")


def show_scan(report: ScanReport | None, name: str, *, folder: Path = NO_FILES) -> None:
    """Print verdict and findings of a submission, given the response of the API."""
    if report is None:
        return
    # A newer registry may send more fields.
    known, _ = split_unknown(report["findings"], tuple[Finding, ...])
    result = ScanResult(
        verdict=Verdict(report["verdict"]),
        score=report["score"] or 0,
        findings=check_shape(known, tuple[Finding, ...]),
        capabilities=check_shape(report["capabilities"], Capabilities),
        manifest=None,
        files=0,
        duration_ms=0,
        scanner=report["scanner"],
        ruleset=report["ruleset"],
    )
    target = ScanTarget(path=name, folder=folder)
    write_text([Scanned(target=target, result=result)], sys.stdout)
