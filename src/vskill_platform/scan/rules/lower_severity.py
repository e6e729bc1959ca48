"""Lower the severity of a match by the role of its files: instruction, reference, document, sample.

The judge can also lower a severity, in scan/judge/combine.py. A policy cannot.
"""

from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.scan.facts.facts import LocatedFact, PartRole
from vskill_platform.scan.rules.rules import Need, Rule

#: By how many steps each role lowers a severity.
RoleSteps = dict[PartRole, int]

STEPS_BY_ROLE: RoleSteps = {
    PartRole.INSTRUCTION: 0,
    PartRole.SCRIPT: 0,
    PartRole.REFERENCE: 1,
    PartRole.DOCUMENT: 1,
    PartRole.SAMPLE: 2,
    PartRole.QUOTED: 1,
}
#: The same in a skill about security, which shows many attacks that it does not perform.
STEPS_BY_ROLE_IN_SECURITY_SKILLS: RoleSteps = {
    **STEPS_BY_ROLE,
    PartRole.REFERENCE: 2,
    PartRole.DOCUMENT: 2,
    PartRole.QUOTED: 3,
    PartRole.SAMPLE: 3,
}
#: Most severe first.
SEVERITIES = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO)
#: By how many steps a fact lowers the severity if its role is not one of the rule's roles.
_OFF_ROLE_STEPS = 2
#: No context lowers a severity below its floor. The author of a skill controls the context, so a
#: critical rule always causes at least a review, and no finding disappears.
_FLOORS = {Severity.CRITICAL: Severity.MEDIUM, Severity.INFO: Severity.INFO}
#: Rules of this severity or above are not lowered below medium, except in skills about security. An
#: agent that uses the skill reads files that the instructions name, and words in scripts. It may
#: also open a file that nothing names, but in harmless skills much there looks dangerous.
_KEPT_AT_MEDIUM = {PartRole.REFERENCE: Severity.MEDIUM, PartRole.DOCUMENT: Severity.HIGH}
_DANGER = frozenset({FindingKind.MALICIOUS, FindingKind.RISKY})


def steps_of_roles(*, is_about_security: bool) -> RoleSteps:
    return STEPS_BY_ROLE_IN_SECURITY_SKILLS if is_about_security else STEPS_BY_ROLE


def lower(severity: Severity, steps: int) -> Severity:
    """Return the severity *steps* lower, but never below its floor."""
    floor = _FLOORS.get(severity, Severity.LOW)
    place = min(SEVERITIES.index(severity) + steps, SEVERITIES.index(floor))
    return SEVERITIES[place]


def steps_of(need: Need, located: LocatedFact, steps: RoleSteps) -> int:
    """Return by how many steps the role of a fact lowers a rule's severity."""
    is_off = bool(need.roles) and located.role not in need.roles
    return max(steps[located.role], _OFF_ROLE_STEPS if is_off else 0)


def lowered_severity(
    rule: Rule, facts: tuple[LocatedFact, ...], steps: RoleSteps
) -> tuple[Severity, str]:
    """Lower the severity by the roles of the matching facts."""
    if rule.is_firm:
        return rule.severity, ""
    located = zip(rule.needs, facts, strict=True)
    count, role = max((steps_of(need, one, steps), one.role) for need, one in located)
    severity = lower(rule.severity, count)
    if _is_read(rule, role, steps) and severity in {Severity.LOW, Severity.INFO}:
        severity = Severity.MEDIUM
    return severity, f"role={role}" if severity is not rule.severity else ""


def _is_read(rule: Rule, role: PartRole, steps: RoleSteps) -> bool:
    """Return whether an agent that uses the skill may obey the match."""
    is_shown = steps is STEPS_BY_ROLE_IN_SECURITY_SKILLS
    least = _KEPT_AT_MEDIUM.get(role)
    is_serious = least is not None and SEVERITIES.index(rule.severity) <= SEVERITIES.index(least)
    names_scripts_only = all(need.roles == [PartRole.SCRIPT] for need in rule.needs)
    has_right_kind = rule.kind in _DANGER and is_serious and not names_scripts_only
    return not is_shown and has_right_kind
