"""Explain a rule, for `--explain`."""

import textwrap

from vskill_platform.scan.rules.registry_rules import RegistryRule, load_registry_rules
from vskill_platform.scan.rules.rules import Rule, load_rules

#: Rules of the manifest and size checks; docs/scanning.md lists the limits.
FORMAL_RULES = {
    "MAN-001": "There is no SKILL.md",
    "MAN-002": "The frontmatter cannot be read",
    "MAN-003": "SKILL.md is too large",
    "MAN-004": "SKILL.md is not UTF-8",
    "MAN-010": "The name is missing or not a valid name",
    "MAN-011": "The name differs from the folder's",
    "MAN-020": "The description is missing, empty or too long",
    "MAN-030": "The compatibility is empty or too long",
    "MAN-031": "The license is not a string",
    "MAN-032": "The metadata contains more than plain strings",
    "MAN-033": "The allowed tools are not one string",
    "MAN-040": "A field is not part of the specification",
    "MAN-050": "There are no instructions below the frontmatter",
    "LIM-001": "There are too many files, or too large ones",
    "LIM-002": "There are more or larger files than the registry's policy allows",
    "LIM-003": "A file name means something else on another system",
}
SPECIFICATION = "https://agentskills.io/specification"
_WIDTH = 96


def explain(name: str) -> str | None:
    """Return the explanation of a rule, or of `all`; None if there is no such rule."""
    wanted = name.strip().upper()
    if wanted == "ALL":
        return _list_all()
    if wanted in FORMAL_RULES:
        return _formal(wanted)
    if wanted in load_registry_rules():
        return _explained(load_registry_rules()[wanted], _only_in_a_registry())
    rule = next((rule for rule in load_rules() if rule.id == wanted), None)
    return _explained(rule, _samples(rule)) if rule else None


def _list_all() -> str:
    rules: list[Rule | RegistryRule] = [*load_rules(), *load_registry_rules().values()]
    titles = {rule.id: rule.title for rule in rules} | FORMAL_RULES
    width = max(map(len, titles))
    return "\n".join(f"{rule:{width}}  {title}" for rule, title in sorted(titles.items()))


def _formal(rule: str) -> str:
    return (
        f"{rule}  {FORMAL_RULES[rule]}\n\n"
        "A quality finding, not a security finding: the skill cannot be published as it is, but\n"
        "the verdict is not affected.\n\n"
        f"References\n  {SPECIFICATION}"
    )


def _explained(rule: Rule | RegistryRule, where: list[str]) -> str:
    parts = [
        f"{rule.id}  {rule.title}\n{rule.severity} · {rule.category} · {rule.kind}",
        _section("Why", _wrapped(rule.why)),
        _section("Fix", _wrapped(rule.fix)),
        *where,
    ]
    if rule.references:
        parts.append(_section("References", "\n".join(f"  {link}" for link in rule.references)))
    return "\n\n".join(parts)


def _samples(rule: Rule) -> list[str]:
    return [
        _section("Found in", textwrap.indent(rule.bad.strip(), "  | ", lambda _: True)),
        _section("Not found in", textwrap.indent(rule.good.strip(), "  | ", lambda _: True)),
    ]


def _only_in_a_registry() -> list[str]:
    text = "When a submitted skill is compared with published skills; no file shows it."
    return [_section("Found", _wrapped(text))]


def _section(head: str, body: str) -> str:
    return f"{head}\n{body}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
