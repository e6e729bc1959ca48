"""How the scans of other makers' scanners look on a terminal."""

from collections.abc import Collection

from rich.table import Table

from vskill_platform.cli.show import show_findings
from vskill_platform.cli.terminal import Console, escape
from vskill_platform.model.verdict import Finding
from vskill_platform.stores.external_scan_store import ExternalScan


def show_scans(scans: list[ExternalScan], *, known: Collection[Finding]) -> None:
    """Show how each scan stands, and what came too late for the report."""
    if not scans:
        return
    console = Console()
    table = Table(
        "scanner", "status", "ended (UTC)", "note", title="Scanners", title_justify="left"
    )
    for scan in scans:
        ended = f"{scan.completed_at:%m-%d %H:%M:%S}" if scan.completed_at else "-"
        table.add_row(escape(scan.provider), scan.status, ended, escape(scan.note))
    console.print(table)
    late = [finding for scan in scans for finding in scan.findings if finding not in known]
    show_findings(console, tuple(late))
