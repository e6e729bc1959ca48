"""Match rules against facts.

A rule matches where all facts that it needs are close enough. lower_severity.py determines the
severity of the match.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

import msgspec

from vskill_platform.model.verdict import Severity
from vskill_platform.scan.facts.facts import Act, LocatedFact
from vskill_platform.scan.rules.lower_severity import (
    SEVERITIES,
    RoleSteps,
    lowered_severity,
    steps_of,
    steps_of_roles,
)
from vskill_platform.scan.rules.rules import Need, Rule

#: Larger than the distance of any two lines.
_ANYWHERE = 1_000_000_000


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

    A skill about security shows many attacks that it does not perform, so there displayed content
    counts less. Its actions count as in any other skill.
    """
    steps = steps_of_roles(is_about_security=is_about_security)
    by_file: dict[str, dict[Act, list[LocatedFact]]] = defaultdict(lambda: defaultdict(list))
    for located in facts:
        by_file[located.path][located.fact.act].append(located)
    names = {act.name for acts in by_file.values() for act in acts}
    matches = []
    for rule in rules:
        if names.isdisjoint(rule.needs[0].act):  # true for nearly every rule
            continue
        for acts in by_file.values():
            found = _best(_matches(rule, acts, steps, in_full=True))
            found = found or _best(_matches(rule, acts, steps, in_full=False))
            if found:
                matches.append(found)
    return matches


def _matches(
    rule: Rule, acts: dict[Act, list[LocatedFact]], steps: RoleSteps, *, in_full: bool
) -> Iterable[Match]:
    """Yield matches of the rule; *in_full* uses only facts that do not lower the severity.

    Those are tried first. Otherwise a nearby decoy, in a place that counts less, would replace the
    decisive fact.
    """
    first, *others = rule.needs

    def candidates_for(need: Need) -> list[LocatedFact]:
        found = _candidates(need, acts)
        return [one for one in found if not (in_full and steps_of(need, one, steps))]

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
        severity, lowered = lowered_severity(rule, chosen, steps)
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
    if fact.is_mention and not need.mentions:
        return False
    return not need.detail or any(word in fact.detail for word in need.detail)


class _Neighbours:
    """Facts by line, for fast lookup, because a hostile text may contain thousands."""

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
        """Return the nearest other fact; if several are equally near, the last one."""
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


def _best(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: SEVERITIES.index(match.severity), default=None)
