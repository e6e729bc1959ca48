"""Load the operator's policy and apply its suppressions and limits to scan results.

It does not decide whether a skill is published: that is model/decision.py.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from posixpath import normpath

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy, suppress
from vskill_platform.model.read_policy import read_policy
from vskill_platform.model.verdict import FindingKind
from vskill_platform.scan.read.limits import MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES
from vskill_platform.scan.rules.explain import FORMAL_RULES
from vskill_platform.scan.rules.registry_rules import load_registry_rules
from vskill_platform.scan.rules.rules import load_rules
from vskill_platform.scan.scan_many import Scanned
from vskill_platform.scan.scan_skill import ScanResult, renew_verdict

#: Limits that a policy may only lower.
_BUILT_IN = {
    "max_files": MAX_FILES,
    "max_file_bytes": MAX_FILE_BYTES,
    "max_total_bytes": MAX_TOTAL_BYTES,
}


def load_policy(path: Path) -> Policy:
    """Read a policy file; errors name the file."""
    try:
        policy = read_policy(path.read_text(encoding="utf-8"), rules=rule_kinds())
        _check_limits(policy)
    except OSError as error:
        raise ConfigError(f"the policy {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the policy {path} is not UTF-8 text") from error
    except ConfigError as error:
        raise ConfigError(f"the policy {path} is invalid: {error}") from error
    return policy


def _check_limits(policy: Policy) -> None:
    """Reject a limit above the built-in one: it would have no effect."""
    for one in (policy, *(namespace.policy for namespace in policy.namespaces)):
        for name, most in _BUILT_IN.items():
            if (getattr(one.limits, name) or 0) > most:
                raise ConfigError(
                    f"[limits]: {name} must not be above the built-in limit of {most:,}"
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
    """Suppress findings as the policy says for a skill with one of *names*; renew the verdict."""
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
