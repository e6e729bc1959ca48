"""Findings for a page: grouped by location, each with a permanent link."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from vskill_platform.model.verdict import Finding

#: Prefix of the anchor of every finding.
_ANCHOR = "finding-"


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


def _anchor(item: Finding, taken: Counter[str]) -> str:
    """Return an id that depends on the finding, not on its position on the page."""
    name = f"{_ANCHOR}{item.fingerprint or item.rule}"
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"
