"""Rules about how a skill compares with published skills; docs/scanning.md lists them."""

import hashlib
from functools import cache

import msgspec

from vskill_platform.model.verdict import Finding, FindingKind, Severity
from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import storable
from vskill_platform.scan.facts.leaked_secrets import redact
from vskill_platform.scan.read.manifest import MANIFEST


class RegistryRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    title: str
    category: str
    kind: FindingKind
    severity: Severity
    why: str
    fix: str
    references: list[str]


@cache
def load_registry_rules() -> dict[str, RegistryRule]:
    rules = msgspec.convert(load_data("registry.toml")["rule"], list[RegistryRule])
    return {rule.id: rule for rule in rules}


def registry_finding(
    rule_id: str, message: str, *, about: str, evidence: tuple[str, ...] = ()
) -> Finding:
    """Create a finding; *about* identifies it across scans."""
    rule = load_registry_rules()[rule_id]
    seal = hashlib.sha256(f"{rule.id}\0{about}".encode(errors="backslashreplace"))
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        message=storable(message),
        fix=rule.fix,
        file=MANIFEST,
        kind=rule.kind,
        why=rule.why,
        evidence=tuple(redact(storable(text)) for text in evidence),
        references=tuple(rule.references),
        fingerprint=seal.hexdigest()[:16],
    )
