"""Load the rules: which combinations of facts are findings. One rule set, one version."""

from functools import cache

import msgspec

from vskill_platform.model.verdict import FindingKind, Severity
from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act, PartRole
from vskill_platform.scan.facts.hosts import ANONYMOUS, HostClass


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fact that a rule needs; an empty list matches any."""

    #: Names of acts; any of them matches.
    act: list[str]
    hosts: list[str] = []
    not_hosts: list[str] = []
    #: Whether it matches only if no host could be read.
    no_host: bool = False
    detail: list[str] = []
    #: How many such facts are needed.
    at_least: int = 1
    #: Roles in which it counts fully; any other role lowers the severity, but keeps the finding.
    roles: list[PartRole] = []
    #: Whether words that are only mentioned also match.
    mentions: bool = True

    def acts(self) -> tuple[Act, ...]:
        return _acts(tuple(self.act))

    def host_classes(self) -> frozenset[HostClass]:
        return _classes(tuple(self.hosts))

    def excluded_classes(self) -> frozenset[HostClass]:
        return _classes(tuple(self.not_hosts))


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    title: str
    #: The usual term, such as "prompt injection" or "persistence".
    category: str
    kind: FindingKind
    severity: Severity
    needs: list[Need]
    #: The maximum distance of the facts in lines; 0 means anywhere in the file.
    within: int = 0
    #: Whether displaying it counts as much as doing it.
    is_firm: bool = False
    why: str
    fix: str
    references: list[str]
    #: A text that the rule must match, and a similar text that it must not.
    bad: str
    good: str


@cache
def load_rules() -> tuple[Rule, ...]:
    return tuple(msgspec.convert(load_data("rules.toml")["rule"], list[Rule]))


@cache
def _acts(names: tuple[str, ...]) -> tuple[Act, ...]:
    return tuple(Act[name] for name in names)


@cache
def _classes(names: tuple[str, ...]) -> frozenset[HostClass]:
    """Parse class names; `anonymous` stands for every untrusted host class."""
    return frozenset(
        found
        for name in names
        for found in (ANONYMOUS if name == "anonymous" else {HostClass(name)})
    )
