"""Match rules against facts, and lower severities by the role of the file.

A rule matches where all facts it needs are close enough. The judge can lower a severity, too, in
scan/judge/combine.py.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

import msgspec

from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.scan.facts.facts import Act, LocatedFact, PartRole
from vskill_platform.scan.rules.rules import Need, Rule

#: How many steps each role lowers a severity.
_CLOSENESS = {
    PartRole.INSTRUCTION: 0,
    PartRole.SCRIPT: 0,
    PartRole.REFERENCE: 1,
    PartRole.DOCUMENT: 1,
    PartRole.SAMPLE: 2,
    PartRole.QUOTED: 1,
}
_SHOWING_LOWERS = {
    **_CLOSENESS,
    PartRole.REFERENCE: 2,
    PartRole.DOCUMENT: 2,
    PartRole.QUOTED: 3,
    PartRole.SAMPLE: 3,
}
#: Farther apart than any two lines.
_ANYWHERE = 1_000_000_000
_SEVERITIES = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO)
#: How many steps a fact lowers a rule if its role is not one that the rule names.
_OFF_ROLE_STEPS = 2
#: No context lowers a severity below its floor. The author of a skill writes the context, so a
#: critical rule always leads to a review, and no finding disappears.
_FLOORS = {Severity.CRITICAL: Severity.MEDIUM, Severity.INFO: Severity.INFO}
#: Files that the instructions name, and words in scripts: an agent that works with the skill reads
#: them. Outside of skills about security, a rule about danger is not lowered below medium there.
_READ_ROLES = frozenset({PartRole.REFERENCE})
_DANGER = frozenset({FindingKind.MALICIOUS, FindingKind.RISKY})


class Match(msgspec.Struct, frozen=True, kw_only=True):
    rule: Rule
    #: The matching facts, the deciding one first.
    facts: tuple[LocatedFact, ...]
    severity: Severity
    #: Why the severity is lower than the rule's; empty if it is not.
    lowered: str = ""


def apply_rules(
    rules: Iterable[Rule], facts: list[LocatedFact], *, is_about_security: bool = False
) -> list[Match]:
    """Return the most severe match for each rule and file.

    A security skill shows much that it does not do, so there shown content counts less. What it
    does counts as everywhere.
    """
    steps = _SHOWING_LOWERS if is_about_security else _CLOSENESS
    by_file: dict[str, dict[Act, list[LocatedFact]]] = defaultdict(lambda: defaultdict(list))
    for located in facts:
        by_file[located.path][located.fact.act].append(located)
    names = {act.name for acts in by_file.values() for act in acts}
    matches = []
    for rule in rules:
        if names.isdisjoint(rule.needs[0].act):  # as for nearly every rule
            continue
        for acts in by_file.values():
            found = _best(_matches(rule, acts, steps, in_full=True))
            found = found or _best(_matches(rule, acts, steps, in_full=False))
            if found:
                matches.append(found)
    return matches


def lower(severity: Severity, steps: int) -> Severity:
    """Return the severity *steps* lower, but never below its floor."""
    floor = _FLOORS.get(severity, Severity.LOW)
    place = min(_SEVERITIES.index(severity) + steps, _SEVERITIES.index(floor))
    return _SEVERITIES[place]


def _matches(
    rule: Rule, acts: dict[Act, list[LocatedFact]], steps: dict[PartRole, int], *, in_full: bool
) -> Iterable[Match]:
    """Yield matches of the rule; *in_full* uses only facts that lower nothing.

    Those are tried first: otherwise a nearby decoy, in a place that counts less, would replace the
    fact that counts.
    """
    first, *others = rule.needs

    def candidates_for(need: Need) -> list[LocatedFact]:
        found = _candidates(need, acts)
        return [one for one in found if not (in_full and _steps_of(need, one, steps))]

    candidates = candidates_for(first)
    if not candidates:
        return
    wanted = [_Neighbours(candidates_for(need), need.at_least) for need in others]
    alike = _Neighbours(candidates, first.at_least) if first.at_least > 1 else None
    within = rule.within or _ANYWHERE
    for located in candidates:
        near = [neighbours.nearest(located, within) for neighbours in wanted]
        if any(item is None for item in near) or (alike and not alike.are_enough(located, within)):
            continue
        chosen = (located, *(item for item in near if item))
        severity, lowered = _lowered_severity(rule, chosen, steps)
        yield Match(rule=rule, facts=chosen, severity=severity, lowered=lowered)


def _candidates(need: Need, acts: dict[Act, list[LocatedFact]]) -> Iterable[LocatedFact]:
    for act in need.acts():
        for located in acts.get(act, ()):
            if _fits(need, located):
                yield located


def _fits(need: Need, located: LocatedFact) -> bool:
    fact = located.fact
    if need.hosts and fact.host_class not in need.host_classes():
        return False
    if need.not_hosts and fact.host_class in need.excluded_classes():
        return False
    if need.no_host and fact.host is not None:
        return False
    return not need.detail or any(word in fact.detail for word in need.detail)


def _steps_of(need: Need, located: LocatedFact, steps: dict[PartRole, int]) -> int:
    """Return how many steps the role of a fact lowers a rule."""
    is_off = bool(need.roles) and located.role not in need.roles
    return max(steps[located.role], _OFF_ROLE_STEPS if is_off else 0)


class _Neighbours:
    """Facts by line, for fast lookup: a hostile text may contain thousands."""

    def __init__(self, candidates: Iterable[LocatedFact], at_least: int = 1) -> None:
        self._at_least = at_least
        self._by_line: dict[int, list[tuple[int, LocatedFact]]] = defaultdict(list)
        for number, candidate in enumerate(candidates):
            self._by_line[candidate.position].append((number, candidate))
        self._lines = sorted(self._by_line)
        self._counts = [0, *accumulate(len(self._by_line[line]) for line in self._lines)]

    def are_enough(self, located: LocatedFact, within: int) -> bool:
        """Return whether as many facts are near as the rule needs."""
        line = located.position
        first = bisect_left(self._lines, line - within)
        behind = bisect_right(self._lines, line + within)
        return self._counts[behind] - self._counts[first] >= self._at_least

    def nearest(self, located: LocatedFact, within: int) -> LocatedFact | None:
        """Return the nearest other fact; of several, the one that was found last."""
        if self._at_least > 1 and not self.are_enough(located, within):
            return None
        line = located.position
        if here := self._last_at(line, located):
            return here[1]
        place = bisect_left(self._lines, line)
        after = place + 1 if line in self._by_line else place
        around = [self._lines[at] for at in (place - 1, after) if 0 <= at < len(self._lines)]
        distance = min((abs(near - line) for near in around), default=within + 1)
        if distance > within:
            return None
        found = [self._by_line[near][-1] for near in around if abs(near - line) == distance]
        return max(found, key=lambda item: item[0])[1]

    def _last_at(self, line: int, located: LocatedFact) -> tuple[int, LocatedFact] | None:
        there = self._by_line.get(line, ())
        return next((item for item in reversed(there) if item[1] is not located), None)


def _lowered_severity(
    rule: Rule, facts: tuple[LocatedFact, ...], steps: dict[PartRole, int]
) -> tuple[Severity, str]:
    """Lower the severity by the roles of the matching facts."""
    if rule.is_firm:
        return rule.severity, ""
    located = zip(rule.needs, facts, strict=True)
    count, role = max((_steps_of(need, one, steps), one.role) for need, one in located)
    severity = lower(rule.severity, count)
    if _is_read(rule, role, steps) and severity in {Severity.LOW, Severity.INFO}:
        severity = Severity.MEDIUM
    return severity, f"role={role}" if severity is not rule.severity else ""


def _is_read(rule: Rule, role: PartRole, steps: dict[PartRole, int]) -> bool:
    """Return whether an agent that uses the skill reads the match."""
    is_shown = steps is _SHOWING_LOWERS
    is_serious = rule.severity not in {Severity.LOW, Severity.INFO}
    names_scripts_only = all(need.roles == [PartRole.SCRIPT] for need in rule.needs)
    has_right_kind = rule.kind in _DANGER and is_serious and not names_scripts_only
    return role in _READ_ROLES and not is_shown and has_right_kind


def _best(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: _SEVERITIES.index(match.severity), default=None)
