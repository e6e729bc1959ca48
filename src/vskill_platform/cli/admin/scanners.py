"""`scanners`: list third-party scanners, and try one on a folder."""

from pathlib import Path

import click
import msgspec
import uvloop
from rich.table import Table

from vskill_platform.base.settle import settle
from vskill_platform.cli.admin.policy import current_policy
from vskill_platform.cli.empty_values import FilledPath
from vskill_platform.cli.local_or_remote import json_option
from vskill_platform.cli.output.show import show_findings
from vskill_platform.cli.output.terminal import Console, escape, print_json
from vskill_platform.cli.run_command import current_settings
from vskill_platform.errors import InvalidInput
from vskill_platform.fetch.snapshot import take_snapshot
from vskill_platform.fetch.workspace import open_workspace
from vskill_platform.model.scanner import (
    ExternalScanResult,
    ExternalScanStatus,
    RemoteScanner,
    Scanner,
    ScannerRule,
)
from vskill_platform.scan.external.load_scanners import load_scanners, scanners_in_use
from vskill_platform.scan.external.run_program import find_program
from vskill_platform.scan.external.run_scanner import run_scanner, version_of

_AT_ONCE = 4


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    #: Its role in the policy.
    use: str
    #: Its path; empty if it is not installed.
    found: str
    version: str


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def scanners(context: click.Context, *, as_json: bool) -> None:
    """List third-party scanners.

    It shows their kind, whether they are required and installed, and their version.
    """
    if context.invoked_subcommand:
        return
    settings = current_settings()
    policy = current_policy(settings)
    scanners_in_use(settings, policy)  # also report what would stop a worker
    rules = {rule.name: rule for rule in policy.scanners}
    rows = uvloop.run(_rows(load_scanners(settings), rules))
    if as_json:
        print_json(rows)
        return
    table = Table("name", "kind", "use", "found", "version")
    for row in rows:
        cells = msgspec.structs.astuple(row)
        table.add_row(*(escape(str(cell)) or "-" for cell in cells))
    Console().print(table)


@scanners.command("try")
@click.argument("name")
@click.argument("path", type=FilledPath(exists=True, file_okay=False))
@json_option
@click.pass_context
def try_scanner(context: click.Context, *, name: str, path: Path, as_json: bool) -> None:
    """Run one scanner on the skill in a folder; nothing is stored.

    The exit code is 0 if it passes, 1 if it fails or gives no result.
    """
    outcome = uvloop.run(_try(_named(name), path))
    if as_json:
        print_json(outcome)
    else:
        console = Console()
        console.print(f"[bold]{outcome.status}[/] {escape(outcome.note)}", highlight=False)
        show_findings(console, outcome.findings)
    if outcome.status is not ExternalScanStatus.PASS:
        context.exit(1)


def _named(name: str) -> Scanner:
    known = load_scanners(current_settings())
    if name not in known:
        raise InvalidInput(f"there is no scanner {name!r}; there are: {', '.join(known)}")
    return known[name]


async def _try(scanner: Scanner, path: Path) -> ExternalScanResult:
    if isinstance(scanner, RemoteScanner):
        raise InvalidInput(f"{scanner.name} is a remote service; submit a skill to try it")
    async with open_workspace() as kept, open_workspace() as workspace:
        # Scan what would be submitted: no links, no .git.
        snapshot = take_snapshot(path, kept / "skill", folder_name=None)
        paths = [file.path for file in snapshot.files]
        return await run_scanner(scanner, snapshot.folder, paths, workspace=workspace)


async def _rows(known: dict[str, Scanner], rules: dict[str, ScannerRule]) -> list[_Row]:
    async with open_workspace() as workspace:

        async def row(scanner: Scanner) -> _Row:
            return await _row(scanner, rules.get(scanner.name), workspace)

        outcomes = await settle(row, known.values(), at_once=_AT_ONCE)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, _Row)]


async def _row(scanner: Scanner, rule: ScannerRule | None, workspace: Path) -> _Row:
    use = "not used" if rule is None else "required" if rule.required else "informational"
    if isinstance(scanner, RemoteScanner):
        return _Row(name=scanner.name, kind="remote", use=use, found=scanner.url, version="")
    return _Row(
        name=scanner.name,
        kind="local",
        use=use,
        found=find_program(scanner.program) or "",
        version=await version_of(scanner, workspace=workspace),
    )
