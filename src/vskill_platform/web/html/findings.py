"""Findings for a page: grouped by location, each with a permanent link."""

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from vskill_platform.model.verdict import Finding

#: Prefix of the anchor of every finding.
_ANCHOR = "finding-"
#: The usual names of public references, by their address.
_REFERENCES = (
    (re.compile(r"https://attack\.mitre\.org/techniques/(T\d+)(?:/(\d+))?/?"), "ATT&CK {}"),
    (re.compile(r"https://attack\.mitre\.org/tactics/(TA\d+)/?"), "ATT&CK {}"),
    (re.compile(r"https://atlas\.mitre\.org/techniques/(AML\.T[\d.]+)/?"), "ATLAS {}"),
    (re.compile(r"https://genai\.owasp\.org/llmrisk/llm(\d\d)[\w-]*/?"), "OWASP LLM{}"),
    (re.compile(r"https://cwe\.mitre\.org/data/definitions/(\d+)\.html"), "CWE-{}"),
)


class ShownFinding(msgspec.Struct, frozen=True):
    item: Finding
    #: Number, text, and whether it is the line of the finding.
    lines: tuple[tuple[int, str, bool], ...] = ()
    #: URL of the file; empty if it is not stored.
    link: str = ""
    #: The id of its element; unique on a page.
    anchor: str = ""


class FindingGroup(msgspec.Struct, frozen=True):
    """All findings at one line of one file."""

    #: The most severe.
    first: ShownFinding
    rest: tuple[ShownFinding, ...] = ()


def group_findings(findings: Iterable[ShownFinding | Finding]) -> list[FindingGroup]:
    """Group findings that are ordered by severity; groups are ordered by their first finding.

    A finding without a line is not grouped.
    """
    groups: dict[object, list[ShownFinding]] = {}
    taken: Counter[str] = Counter()
    for number, one in enumerate(findings):
        found = one if isinstance(one, ShownFinding) else ShownFinding(one)
        item = found.item
        place = (item.file, item.line) if item.file and item.line else number
        named = msgspec.structs.replace(found, anchor=_anchor(item, taken))
        groups.setdefault(place, []).append(named)
    return [FindingGroup(group[0], tuple(group[1:])) for group in groups.values()]


def reference_name(address: str) -> str:
    """Return the short name of a public reference; empty if it is not one of those we know."""
    for pattern, name in _REFERENCES:
        if found := pattern.fullmatch(address):
            return name.format(".".join(filter(None, found.groups())))
    return ""


def _anchor(item: Finding, taken: Counter[str]) -> str:
    """Return an id that depends on the finding, not on its position on the page."""
    name = f"{_ANCHOR}{item.fingerprint or item.rule}"
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"
