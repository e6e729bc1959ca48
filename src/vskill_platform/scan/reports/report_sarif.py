"""The report in SARIF 2.1.0, for code hosts and editors."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, TextIO
from urllib.parse import quote

import msgspec

from vskill_platform import __version__
from vskill_platform.base.show_text import quiet_json, show
from vskill_platform.model.verdict import Finding, FindingKind, Severity, Step
from vskill_platform.scan.facts.data_files import ruleset_version
from vskill_platform.scan.reports.source_lines import lines_around, without_secrets
from vskill_platform.scan.rules.explain import FORMAL_RULES, SPECIFICATION
from vskill_platform.scan.rules.rules import Rule, load_rules
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import SCANNER

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
#: On the CVSS scale, as code hosts expect.
_SECURITY_SEVERITIES = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "3.0",
    Severity.INFO: "0.0",
}
_MAX_EVIDENCE = 5
_REFERENCE_TAGS = (
    (re.compile(r"attack\.mitre\.org/techniques/(T\d+)(?:/(\d+))?"), "external/mitre/{}.{}"),
    (re.compile(r"atlas\.mitre\.org/techniques/(AML\.T\d+)"), "external/atlas/{}"),
    (re.compile(r"cwe\.mitre\.org/data/definitions/(\d+)"), "external/cwe/cwe-{:0>3}"),
    (re.compile(r"genai\.owasp\.org/llmrisk/(llm\d\d)"), "external/owasp/{}"),
)


def write_sarif(scanned: Iterable[Scanned], out: TextIO) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(to_sarif(scanned)), indent=2)
    out.write(quiet_json(encoded).decode() + "\n")


def to_sarif(scanned: Iterable[Scanned]) -> dict[str, Any]:
    """Put all skills into one run; a failed scan makes the run unsuccessful."""
    results: list[dict[str, Any]] = []
    notifications: list[dict[str, Any]] = []
    seen: dict[str, Finding] = {}
    for one in scanned:
        if one.result is None:
            notifications.append(_notification(one))
            continue
        for finding in one.result.findings:
            seen.setdefault(finding.rule, finding)
            results.append(_result(without_secrets(finding), one, list(seen).index(finding.rule)))
    invocation = {
        "executionSuccessful": not notifications,
        "toolExecutionNotifications": notifications,
    }
    driver = {
        "name": "vskill-platform",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": list(_rules(seen)),
        "properties": {"scanner": SCANNER, "ruleset": ruleset_version()},
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules(seen: dict[str, Finding]) -> Iterator[dict[str, Any]]:
    known = {rule.id: rule for rule in load_rules()}
    for name, finding in seen.items():
        rule = known.get(name)
        yield _known_rule(rule) if rule else _formal_rule(finding)


def _known_rule(rule: Rule) -> dict[str, Any]:
    links = "".join(f"\n- {link}" for link in rule.references)
    described = {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {
            "text": f"{rule.why}\n\nFix: {rule.fix}{links}",
            "markdown": f"{rule.why}\n\n**Fix:** {rule.fix}\n{links}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": _properties(rule.kind, rule.severity, _rule_tags(rule)),
    }
    return described | ({"helpUri": rule.references[0]} if rule.references else {})


def _formal_rule(finding: Finding) -> dict[str, Any]:
    title = FORMAL_RULES.get(finding.rule, finding.rule)
    return {
        "id": finding.rule,
        "shortDescription": {"text": title},
        "fullDescription": {"text": finding.why or title},
        "help": {"text": show(finding.fix) or title},
        "helpUri": SPECIFICATION,
        "defaultConfiguration": {"level": _level(finding)},
        "properties": _properties(finding.kind, finding.severity),
    }


def _rule_tags(rule: Rule) -> list[str]:
    """Return category and public references as tags, by which code hosts group results."""
    tags = [rule.category]
    for link in rule.references:
        for pattern, tag in _REFERENCE_TAGS:
            if found := pattern.search(link):
                tags.append(tag.format(*found.groups("")).rstrip(".").lower())
    return tags


def _properties(kind: FindingKind, severity: Severity, tags: Iterable[str] = ()) -> dict[str, Any]:
    if kind is FindingKind.QUALITY:
        return {"tags": ["agent-skill", "quality", *tags]}
    return {
        "security-severity": _SECURITY_SEVERITIES[severity],
        "tags": ["security", "agent-skill", kind, *tags],
    }


def _result(finding: Finding, one: Scanned, rule_index: int) -> dict[str, Any]:
    fingerprint = finding.fingerprint or f"{finding.rule}:{finding.file}:{finding.message}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _level(finding),
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": _location(finding, one)}],
        "partialFingerprints": {"vskillFinding/v1": show(fingerprint, limit=200)},
        "suppressions": _suppressions(finding),
        **({"codeFlows": [_code_flow(finding, one)]} if finding.steps else {}),
        "properties": {
            "severity": finding.severity,
            "kind": finding.kind,
            "skill": one.target.path,
            "verdict": one.result.verdict if one.result else "",
            "lowered": finding.lowered,
            "suppressed": finding.suppression.in_words() if finding.suppression else "",
            "evidence": [show(text) for text in finding.evidence[:_MAX_EVIDENCE]],
        },
    }


def _suppressions(finding: Finding) -> list[dict[str, Any]]:
    """Return the suppressions; SARIF requires the list for every result or for none."""
    if not finding.suppression or not finding.is_suppressed:
        return []
    return [
        {
            "kind": "external",
            "status": "accepted",
            "justification": show(finding.suppression.reason),
            "properties": {"expires": finding.suppression.expires},
        }
    ]


def _level(finding: Finding) -> str:
    """Return the level; in a security report, quality findings are not errors."""
    return "note" if finding.kind is FindingKind.QUALITY else _LEVELS[finding.severity]


def _code_flow(finding: Finding, one: Scanned) -> dict[str, Any]:
    """Return the locations of a finding in order, from source to sink."""
    locations = [
        {
            "executionOrder": number,
            "importance": "essential",
            "location": {
                "physicalLocation": _location(_at(finding, step), one),
                "message": {"text": _plain(f"{step.act}: {show(step.text, limit=300)}")},
            },
        }
        for number, step in enumerate(finding.steps, start=1)
    ]
    return {"threadFlows": [{"locations": locations}]}


def _at(finding: Finding, step: Step) -> Finding:
    return msgspec.structs.replace(finding, file=step.file, line=step.line, evidence=(step.text,))


def _message(finding: Finding) -> str:
    return _plain(f"{show(finding.message, limit=1000)} {show(finding.why)}".strip())


def _plain(text: str) -> str:
    """Escape brackets, which are links in SARIF: a skill must not create links."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _location(finding: Finding, one: Scanned) -> dict[str, Any]:
    inside = PurePosixPath(_relative(one.target.path)) / (finding.file or "SKILL.md")
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(inside.as_posix())}}
    if finding.line:
        location["region"] = {"startLine": finding.line}
        if found := [line.text for line in lines_around(one.target.folder, finding) if line.is_it]:
            location["region"]["snippet"] = {"text": found[0]}
    return location


def _relative(path: str) -> str:
    """Return a path relative to the working folder, or the skill's name, for shared reports."""
    if "://" in path:
        return path.partition("://")[2]
    absolute = Path(path).absolute()
    try:
        return absolute.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return absolute.name


def _notification(one: Scanned) -> dict[str, Any]:
    uri = quote(_relative(one.target.path))
    return {
        "level": "error",
        "descriptor": {"id": "not-verified"},
        "message": {"text": f"not verified: {show(one.error, limit=1000)}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}}}],
    }
