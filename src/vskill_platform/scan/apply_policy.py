"""Load the operator's policy and apply its suppressions and limits to scan results.

It lowers no severity (scan/rules/lower_severity.py does) and does not decide whether a skill is
published (model/decision.py does).
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from posixpath import normpath

import msgspec

from vskill_platform.errors import ConfigError, PolicyInvalid
from vskill_platform.model.policy import Policy, suppress
from vskill_platform.model.policy_text import locate
from vskill_platform.model.read_policy import read_policy
from vskill_platform.model.verdict import FindingKind
from vskill_platform.scan.read.limits import MAX_FILE_BYTES, MAX_SKILL_BYTES, MAX_SKILL_FILES
from vskill_platform.scan.rules.explain import FORMAL_RULES
from vskill_platform.scan.rules.registry_rules import load_registry_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict

#: Limits that a policy may only lower.
BUILT_IN_LIMITS = {
    "max_files": MAX_SKILL_FILES,
    "max_file_bytes": MAX_FILE_BYTES,
    "max_total_bytes": MAX_SKILL_BYTES,
}


def parse_policy(text: str) -> Policy:
    """Parse and check a policy; an error names its line."""
    try:
        policy = read_policy(text, rules=rule_kinds())
        _check_limits(policy)
    except PolicyInvalid as error:
        raise locate(error, text) from error
    return policy


def load_policy(path: Path) -> Policy:
    """Read a policy file; errors name the file."""
    try:
        policy = parse_policy(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the policy {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the policy {path} is not UTF-8 text") from error
    except PolicyInvalid as error:
        line = f" (line {error.line})" if error.line else ""
        raise ConfigError(f"the policy {path} is invalid: {error}{line}") from error
    return policy


def _check_limits(policy: Policy) -> None:
    """Reject a limit above the built-in one, because it would have no effect."""
    places: list[tuple[tuple[str | int, ...], Policy]] = [((), policy)]
    places += [(("namespaces", n), one.policy) for n, one in enumerate(policy.namespaces)]
    for at, one in places:
        for name, most in BUILT_IN_LIMITS.items():
            if (getattr(one.limits, name) or 0) > most:
                raise PolicyInvalid(
                    f"[limits]: {name} must not be above the built-in limit of {most:,}",
                    at=(*at, "limits", name),
                )


@cache
def rule_kinds() -> dict[str, FindingKind]:
    """Return every rule id with the kind of its findings."""
    return {
        **dict.fromkeys(FORMAL_RULES, FindingKind.QUALITY),
        **{rule.id: rule.kind for rule in load_rules()},
        **{rule.id: rule.kind for rule in load_registry_rules().values()},
    }


def apply_policy(
    result: ScanResult, policy: Policy, *, names: Collection[str], today: date
) -> ScanResult:
    """Suppress findings by the policy for a skill with one of *names*; update the verdict."""
    return renew_verdict(result, suppress(result.findings, policy, names=names, today=today))


def apply_policy_to_each(
    scanned: Iterable[Scanned], policy: Policy, *, today: date
) -> Iterator[Scanned]:
    """Apply a policy to many results, each under the path or URL the user typed.

    Targets that could not be verified stay unverified.
    """
    for one in scanned:
        if one.result is None:
            yield one
            continue
        names = (one.target.path, normpath(one.target.path))
        result = apply_policy(one.result, policy, names=names, today=today)
        yield msgspec.structs.replace(one, result=result)
