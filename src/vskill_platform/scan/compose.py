"""Putting facts together: a rule holds where all the facts it needs stand close enough."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from vskill_platform.model.verdict import Severity
from vskill_platform.scan.collect import Placed
from vskill_platform.scan.facts import Act
from vskill_platform.scan.rules import Need, Rule
from vskill_platform.scan.skill_files import Role

#: From the closest to being obeyed or run to the farthest.
_CLOSENESS = {
    Role.INSTRUCTION: 0,
    Role.SCRIPT: 0,
    Role.REFERENCE: 1,
    Role.DOCUMENT: 1,
    Role.SAMPLE: 2,
    Role.QUOTED: 1,
}
_SHOWING_LOWERS = {
    **_CLOSENESS,
    Role.REFERENCE: 2,
    Role.DOCUMENT: 2,
    Role.QUOTED: 3,
    Role.SAMPLE: 3,
}
_SEVERITIES = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO)


class Match(msgspec.Struct, frozen=True, kw_only=True):
    rule: Rule
    #: The facts that it was put together from, the deciding one first.
    facts: tuple[Placed, ...]
    severity: Severity
    #: Why the severity is lower than the rule's; empty if it is not.
    lowered: str = ""


def apply_rules(
    rules: Iterable[Rule], facts: list[Placed], *, is_about_security: bool = False
) -> list[Match]:
    """Return one match for each rule and file, the gravest.

    A skill about attack and defence shows much that it does not do: there, what is shown counts
    for less. That says nothing about what it does, which counts as everywhere.
    """
    steps = _SHOWING_LOWERS if is_about_security else _CLOSENESS
    by_file: dict[str, dict[Act, list[Placed]]] = defaultdict(lambda: defaultdict(list))
    for placed in facts:
        by_file[placed.path][placed.fact.act].append(placed)
    matches = []
    for rule in rules:
        for acts in by_file.values():
            found = _best(_matches(rule, acts, steps))
            if found:
                matches.append(found)
    return matches


def _matches(rule: Rule, acts: dict[Act, list[Placed]], steps: dict[Role, int]) -> Iterable[Match]:
    first, *others = rule.needs
    for placed in _candidates(first, acts):
        near = [_nearest(need, placed, acts, rule.within) for need in others]
        if any(item is None for item in near):
            continue
        if any(_nearest(need, placed, acts, rule.within) for need in rule.unless):
            continue
        chosen = (placed, *(item for item in near if item))
        severity, lowered = _weigh(rule, chosen, steps)
        yield Match(rule=rule, facts=chosen, severity=severity, lowered=lowered)


def _candidates(need: Need, acts: dict[Act, list[Placed]]) -> Iterable[Placed]:
    for act in need.acts():
        for placed in acts.get(act, ()):
            if _fits(need, placed):
                yield placed


def _fits(need: Need, placed: Placed) -> bool:
    fact = placed.fact
    if need.hosts and fact.host_class not in need.host_classes():
        return False
    if need.not_hosts and fact.host_class in need.excluded_classes():
        return False
    if need.no_host and fact.host is not None:
        return False
    if need.detail and not any(word in fact.detail for word in need.detail):
        return False
    return not need.roles or placed.role in need.roles


def _nearest(
    need: Need, placed: Placed, acts: dict[Act, list[Placed]], within: int
) -> Placed | None:
    best: Placed | None = None
    best_distance = within or 1_000_000_000
    for candidate in _candidates(need, acts):
        distance = abs(candidate.fact.line - placed.fact.line)
        if distance <= best_distance and candidate is not placed:
            best, best_distance = candidate, distance
    return best


def _weigh(rule: Rule, facts: tuple[Placed, ...], steps: dict[Role, int]) -> tuple[Severity, str]:
    """Lower the severity by the role of what was found; nothing is ever dropped."""
    if rule.is_firm:
        return rule.severity, ""
    farthest = max(facts, key=lambda placed: steps[placed.role])
    lower = steps[farthest.role]
    if not lower:
        return rule.severity, ""
    place = min(_SEVERITIES.index(rule.severity) + lower, len(_SEVERITIES) - 1)
    return _SEVERITIES[place], f"role={farthest.role}"


def _best(matches: Iterable[Match]) -> Match | None:
    return min(matches, key=lambda match: _SEVERITIES.index(match.severity), default=None)
