"""The report for a terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vskill_platform.base.show_text import SPELLED_OUT, count_of, show
from vskill_platform.model.failure import failures_in
from vskill_platform.model.skill import Capabilities, group_by_capability
from vskill_platform.model.verdict import Finding, FindingKind, Severity, Verdict
from vskill_platform.scan.reports.source_lines import (
    Line,
    lines_around,
    other_places,
    without_secrets,
)
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import ScanResult

_WIDTH_OF_A_FILE = 100
_VERDICTS = {
    Verdict.PASS: ("✔", "bold green"),
    Verdict.REVIEW: ("▲", "bold yellow"),
    Verdict.BLOCK: ("✖", "bold red"),
}
_BROKEN = ("?", "bold magenta")
#: Nothing dangerous was found, but the skill cannot be published in this state.
_INVALID = ("✖", "bold red")
_SEVERITIES = {
    Severity.CRITICAL: "bold white on red",
    Severity.HIGH: "bold red",
    Severity.MEDIUM: "bold yellow",
    Severity.LOW: "cyan",
    Severity.INFO: "dim",
}
#: Further findings of a kind are counted, not listed.
_MAX_SHOWN = 8


def write_text(scanned: Iterable[Scanned], out: TextIO) -> None:
    console = Console(file=out, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    counts: Counter[str] = Counter()
    for one in scanned:
        counts[one.result.verdict if one.result else "not verified"] += 1
        for part in _skill(one):
            console.print(part)
    if counts.total() > 1:
        console.print(_summary(counts))


def _skill(one: Scanned) -> Iterator[Text | Padding]:
    if one.result is None:
        yield _verdict_line(_BROKEN, "NOT VERIFIED", one)
        yield _indented(Text(show(one.error, limit=500)), 2)
        return
    verdict = one.result.verdict
    if verdict is Verdict.PASS and failures_in(one.result.findings):
        yield _verdict_line(_INVALID, "INVALID", one)
    else:
        yield _verdict_line(_VERDICTS[verdict], verdict.upper(), one)
    formal = [item for item in one.result.findings if item.kind is FindingKind.QUALITY]
    for finding in one.result.findings:
        if finding not in formal:
            yield from _finding(finding, one)
    if formal:
        yield _indented(_form(formal), 2)
    if one.result.capabilities and verdict is not Verdict.PASS:
        yield _indented(_capabilities(one.result.capabilities), 2)


def _verdict_line(mark: tuple[str, str], word: str, one: Scanned) -> Text:
    sign, style = mark
    line = Text.assemble((f"{sign} {word}", style), "  ", (show(one.target.path), "bold"))
    if one.result:
        line.append(f"  {_measures(one.result)}", "dim")
    return line


def _measures(result: ScanResult) -> str:
    """Return the risk score and, if it was scanned locally, the number of files and the time."""
    files = f" · {count_of(result.files, 'file')}" if result.files else ""
    took = f" · {result.duration_ms:.0f} ms" if result.duration_ms else ""
    suppressed = sum(finding.is_suppressed for finding in result.findings)
    also = f" · {suppressed} suppressed" if suppressed else ""
    score = "no risk score" if failures_in(result.findings) else f"risk {result.score}/100"
    return f"{score}{files}{took}{also}"


def _finding(finding: Finding, one: Scanned) -> Iterator[Padding]:
    head = Text.assemble(
        (f" {finding.severity} ", _SEVERITIES[finding.severity]),
        " ", (show(finding.rule), "bold"), "  ", (_place(finding), "underline"),
        ("  suppressed" if finding.is_suppressed else "", "bold dim"),
    )  # fmt: skip
    yield _indented(head, 2, below=0)
    yield _indented(_odd(show(finding.message, limit=500)), 4, below=0)
    if lines := lines_around(one.target.folder, finding):
        yield _indented(_code(lines), 4, below=0)
    yield _indented(_notes(finding), 4)


def _place(finding: Finding) -> str:
    place = show(finding.file or "", limit=200)
    return f"{place}:{finding.line}" if place and finding.line else place


def _form(findings: list[Finding]) -> Table:
    """List quality findings briefly, because they are not about danger."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        what = _odd(show(finding.message, limit=300))
        what.append(f" {show(finding.fix, limit=300)}", "dim")
        table.add_row(Text(f" quality  {show(finding.rule)}", "cyan"), Text(_place(finding)), what)
    return table


def _code(lines: tuple[Line, ...]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        style = "bold" if line.is_it else "dim"
        number = Text(f"{'▶ ' if line.is_it else ''}{line.number}", style)
        table.add_row(number, Text("│", "dim"), _odd(line.text, style))
    return table


def _notes(finding: Finding) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    rows = [
        *(("with", show(text, limit=200)) for text in other_places(without_secrets(finding))),
        ("why", show(finding.why)),
        ("fix", show(finding.fix)),
        ("lowered", show(finding.lowered)),
        ("suppressed", show(finding.suppression.in_words()) if finding.suppression else ""),
    ]
    for name, text in rows:
        if text:
            table.add_row(Text(name, "dim"), _odd(text))
    return table


def _capabilities(found: Capabilities) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(
        Text("Capabilities", "dim italic"), Text("(not part of the verdict)", "dim italic")
    )
    for name, values in group_by_capability(found).items():
        shown = " · ".join(show(value, limit=60) for value in values[:_MAX_SHOWN])
        more = len(values) - _MAX_SHOWN
        table.add_row(show(name), _odd(f"{shown} and {more} more" if more > 0 else shown, "dim"))
    return table


def _indented(part: RenderableType, left: int, *, below: int = 1) -> Padding:
    return Padding(part, (0, 0, below, left), expand=False)


def _odd(text: str, style: str = "") -> Text:
    """Highlight escaped characters."""
    shown = Text(text, style)
    shown.highlight_regex(SPELLED_OUT, "reverse")
    return shown


def _summary(counts: Counter[str]) -> Text:
    order = [*Verdict, "not verified"]
    parts = ", ".join(f"{counts[name]} {name}" for name in order if counts[name])
    return Text(f"{count_of(counts.total(), 'skill')}: {parts}", "bold")
