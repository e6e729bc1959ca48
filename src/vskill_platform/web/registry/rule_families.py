"""The rules of the scanner in groups, for people who want to know what is looked for."""

import msgspec

from vskill_platform.model.verdict import Severity
from vskill_platform.scan.registry_rules import RegistryRule, load_registry_rules
from vskill_platform.scan.rules import Rule, load_rules

#: What the middle of a rule's id stands for, the gravest and most frequent first.
FAMILIES = {
    "INJ": "Orders that turn the agent against its user",
    "LURE": "Lures that make a person run something",
    "LEAK": "Secrets sent away",
    "SEND": "Data sent to places made to collect it",
    "READ": "Secrets read or put together",
    "SPY": "Spying on the user: keystrokes, clipboard, screen",
    "PAY": "Payments to an address in the skill",
    "MINE": "Cryptocurrency mining",
    "RUN": "Code of strangers that is fetched and run",
    "DEC": "Encoded code that is run",
    "SHELL": "Shells handed to the network",
    "KEEP": "What stays on the machine",
    "HIDE": "What is hidden from a reader",
    "HOOK": "Code that runs when something is installed",
    "DEP": "Packages that are not what they seem",
    "DISARM": "Protection that is switched off",
    "ELEV": "More power over the machine than needed",
    "AGENT": "Changes to what the agent may do",
    "MCP": "Connections to unknown tool servers (MCP)",
    "TOOLS": "Every tool asked for at once",
    "WIPE": "Everything deleted",
    "FILE": "Files that cannot be read or should not be there",
    "EXPOSED": "The author's own secrets left open",
    "REG": "Copies and look-alikes of what others have published",
}
_ORDER = {severity: place for place, severity in enumerate(Severity)}


class ShownRule(msgspec.Struct, frozen=True):
    id: str
    title: str
    severity: Severity


class Family(msgspec.Struct, frozen=True):
    title: str
    #: The gravest first.
    rules: tuple[ShownRule, ...]

    @property
    def count(self) -> int:
        return len(self.rules)


def rule_families() -> tuple[Family, ...]:
    """Group all rules; one of a family that has no name here yet makes its own."""
    groups: dict[str, list[ShownRule]] = {name: [] for name in FAMILIES}
    rules: list[Rule | RegistryRule] = [*load_rules(), *load_registry_rules().values()]
    for rule in rules:
        name = rule.id.split("-")[1]
        groups.setdefault(name, []).append(ShownRule(rule.id, rule.title, rule.severity))
    return tuple(
        Family(
            FAMILIES.get(name, name),
            tuple(sorted(found, key=lambda rule: (_ORDER[rule.severity], rule.id))),
        )
        for name, found in groups.items()
        if found
    )
