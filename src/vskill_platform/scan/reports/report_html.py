"""The report as one self-contained HTML page: no scripts, no fonts, no network."""

from collections import Counter
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import TextIO

from vskill_platform.base.show_text import SPELLED_OUT, show
from vskill_platform.model.failure import failures_in
from vskill_platform.model.skill import Capabilities, group_by_capability
from vskill_platform.model.verdict import Finding, FindingKind, Verdict
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.reports.source_lines import (
    Line,
    lines_around,
    other_places,
    without_secrets,
)
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import SCANNER, ScanResult

_BROKEN = "error"
_INVALID = "invalid"
_WORDS: dict[str, str] = {
    Verdict.PASS: "pass",
    Verdict.REVIEW: "review",
    Verdict.BLOCK: "block",
    _BROKEN: "not verified",
    _INVALID: "invalid",
}
_SENTENCES: dict[str, str] = {
    Verdict.PASS: "No security problems were found.",
    Verdict.REVIEW: "Review this skill before you use it.",
    Verdict.BLOCK: "Do not use this skill.",
    _BROKEN: "The scan failed, so nothing is known about this skill.",
    _INVALID: "It cannot be published as it is.",
}
#: Most severe first.
_ORDER: tuple[str, ...] = (
    Verdict.BLOCK,
    _BROKEN,
    _INVALID,
    Verdict.REVIEW,
    Verdict.PASS,
)
_MAX_SHOWN = 12


def write_html(scanned: Iterable[Scanned], out: TextIO) -> None:
    skills = sorted(scanned, key=lambda one: _ORDER.index(_verdict(one)))
    page = Template(
        files("vskill_platform.scan.reports").joinpath("report.html").read_text("utf-8")
    )
    out.write(
        page.substitute(
            summary=_summary(skills),
            contents=_contents(skills) if len(skills) > 1 else "",
            skills="\n".join(_skill(number, one) for number, one in enumerate(skills)),
            scanner=_text(SCANNER),
            ruleset=_text(ruleset_version()),
        )
    )


def _verdict(one: Scanned) -> str:
    if one.result is None:
        return _BROKEN
    is_invalid = one.result.verdict is Verdict.PASS and failures_in(one.result.findings)
    return _INVALID if is_invalid else one.result.verdict


def _text(text: str, limit: int = 0) -> str:
    """Return untrusted text as HTML, with escaped characters marked."""
    return SPELLED_OUT.sub(
        lambda found: f"<mark>{found[0][1:-1]}</mark>", escape(show(text, limit=limit))
    )


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict}">{_WORDS[verdict]}</span>'


def _summary(skills: list[Scanned]) -> str:
    counts = Counter(map(_verdict, skills))
    return "".join(
        f'<li class="{verdict}"><b>{counts[verdict]:,}</b> {word}</li>'
        for verdict in _ORDER
        if (word := _WORDS[verdict]) and counts[verdict]
    )


def _contents(skills: list[Scanned]) -> str:
    rows = "".join(
        f'<tr><td>{_badge(_verdict(one))}</td><td><a href="#s{number}">'
        f"{_text(one.target.path, 200)}</a></td>"
        f'<td class="number">{_score(one.result)}</td>'
        f'<td class="number">{len(one.result.findings) if one.result else "—"}</td></tr>'
        for number, one in enumerate(skills)
    )
    return (
        '<nav aria-label="Skills"><table><thead><tr><th>verdict</th><th>skill</th>'
        f'<th class="number">risk</th><th class="number">findings</th></tr></thead><tbody>{rows}'
        "</tbody></table></nav>"
    )


def _score(result: ScanResult | None) -> str:
    return "—" if result is None or failures_in(result.findings) else str(result.score)


def _skill(number: int, one: Scanned) -> str:
    verdict = _verdict(one)
    head = (
        f"<header><h2>{_text(one.target.path, 300)}</h2>{_badge(verdict)}"
        f"<p>{_sentence(one)}</p>{_measures(one.result) if one.result else ''}</header>"
    )
    body = _found(one, one.result) if one.result else f"<p>{_text(one.error, 1000)}</p>"
    return f'<section id="s{number}" class="skill {verdict}">{head}{body}</section>'


def _sentence(one: Scanned) -> str:
    if one.result and one.result.verdict is Verdict.PASS and _suppressed(one.result):
        return "All findings are suppressed by a policy."
    return _SENTENCES[_verdict(one)]


def _suppressed(result: ScanResult) -> int:
    return sum(finding.is_suppressed for finding in result.findings)


def _measures(result: ScanResult) -> str:
    width = f'<span class="track"><i style="width:{result.score}%"></i></span>'
    score = "none" if failures_in(result.findings) else f"{width}{result.score} of 100"
    count = _suppressed(result)
    suppressed = f"<div><dt>suppressed</dt><dd>{count:,}</dd></div>" if count else ""
    return (
        f'<dl class="measures"><div><dt>risk</dt><dd>{score}</dd></div>'
        f"<div><dt>files</dt><dd>{result.files:,}</dd></div>"
        f"<div><dt>time</dt><dd>{result.duration_ms:,.0f} ms</dd></div>{suppressed}</dl>"
    )


def _found(one: Scanned, result: ScanResult) -> str:
    findings = [without_secrets(item) for item in result.findings]
    formal = [item for item in findings if item.kind is FindingKind.QUALITY]
    return (
        "".join(_finding(item, one) for item in findings if item not in formal)
        + (_form(formal) if formal else "")
        + (_capabilities(result.capabilities) if result.capabilities else "")
    )


def _finding(finding: Finding, one: Scanned) -> str:
    return (
        f'<article class="finding {finding.severity}"><h3>{_text(finding.message, 500)}</h3>'
        f'<p class="place"><span class="severity">{finding.severity}</span>'
        f"<code>{_text(finding.rule)}</code><span>{_place(finding)}</span>"
        f"{'<b>suppressed</b>' if finding.is_suppressed else ''}</p>"
        f"{_code(lines_around(one.target.folder, finding))}{_notes(finding)}</article>"
    )


def _place(finding: Finding) -> str:
    return _text(finding.file or "", 200) + (f":{finding.line}" if finding.line else "")


def _form(findings: list[Finding]) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(item.rule)}</code></td><td><code>{_place(item)}</code></td>"
        f"<td>{_text(item.message, 300)} <span>{_text(item.fix, 300)}</span></td></tr>"
        for item in findings
    )
    return (
        f'<details class="form"><summary>Quality: {len(findings)} to fix'
        f" <span>not part of the verdict</span></summary><table>{rows}</table></details>"
    )


def _code(lines: tuple[Line, ...]) -> str:
    rows = "".join(
        f"<tr{' class=it' if line.is_it else ''}><th>{line.number}</th>"
        f"<td>{_text(line.text) or '&nbsp;'}</td></tr>"
        for line in lines
    )
    return f'<div class="code"><table>{rows}</table></div>' if rows else ""


def _notes(finding: Finding) -> str:
    notes = [
        *(("Together with", f"<code>{_text(text, 300)}</code>") for text in other_places(finding)),
        ("Why", _text(finding.why)),
        ("Fix", _text(finding.fix)),
        ("Lowered", _text(finding.lowered)),
        ("Suppressed", _text(finding.suppression.in_words()) if finding.suppression else ""),
        ("More", " · ".join(map(_link, finding.references))),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{html}</dd>" for name, html in notes if html)
    return f'<dl class="notes">{rows}</dl>'


def _link(address: str) -> str:
    shown = _text(address.removeprefix("https://").rstrip("/"))
    if not address.startswith("https://"):
        return shown
    return f'<a href="{escape(address)}" rel="noreferrer noopener">{shown}</a>'


def _capabilities(found: Capabilities) -> str:
    rows = "".join(
        f"<dt>{_text(name)}</dt><dd>{_values(values)}</dd>"
        for name, values in group_by_capability(found).items()
    )
    return (
        '<details class="capabilities"><summary>Capabilities <span>not part of the verdict'
        f"</span></summary><dl>{rows}</dl></details>"
    )


def _values(values: tuple[str, ...]) -> str:
    shown = "".join(f"<code>{_text(value, 100)}</code>" for value in values[:_MAX_SHOWN])
    more = len(values) - _MAX_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
