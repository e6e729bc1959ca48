"""The form for the usual parts of the policy: convert the text to values, and values to text."""

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vskill_platform.errors import PolicyInvalid
from vskill_platform.model.policy import Level, Thresholds, Trust
from vskill_platform.model.policy_text import PolicyValue, edit
from vskill_platform.model.verdict import FindingKind
from vskill_platform.scan.apply_policy import BUILT_IN_LIMITS
from vskill_platform.web.policy.policy_rows import PolicyPath, Values, show_rows

#: Kinds of findings that have thresholds of their own, with their labels in the form.
KINDS = {
    FindingKind.MALICIOUS: "evidence of an attack",
    FindingKind.RISKY: "dangerous, but often legitimate",
    FindingKind.OPAQUE: "content that could not be read",
    FindingKind.IMITATION: "resembles another skill",
    FindingKind.EXPOSURE: "leaked secrets of the author",
}
TRUSTED_KINDS = (FindingKind.RISKY, FindingKind.IMITATION, FindingKind.EXPOSURE)
TRUSTED_LEVELS = (Level.HIGH, Level.MEDIUM, Level.LOW, Level.INFO)
#: The label of each limit, and the built-in limit.
LIMITS = {
    "submissions_per_day": ("Submissions per publisher and day", "no limit"),
    "max_files": ("Files per skill", f"{BUILT_IN_LIMITS['max_files']:,}"),
    "max_file_bytes": ("Bytes per file", f"{BUILT_IN_LIMITS['max_file_bytes']:,}"),
    "max_total_bytes": ("Bytes per skill", f"{BUILT_IN_LIMITS['max_total_bytes']:,}"),
}
LEVELS = ("review_at", "reject_at")
_MAX_DIGITS = 15


class PolicyForm(msgspec.Struct, frozen=True, kw_only=True):
    """The values that the form shows."""

    #: Text fields and selected levels by their name, such as `thresholds.review_at`.
    values: dict[str, str]
    two_grave_reject: bool
    own: bool
    trusted: frozenset[str]
    #: Suppressions, namespaces and scanners; tables with too many rows are edited as text.
    rows: dict[str, list[Values]]

    def get(self, *path: str) -> str:
        return self.values.get(".".join(path), "")


def show_form(text: str) -> PolicyForm:
    """Return the values of a valid policy."""
    document = tomllib.loads(text)
    values = {".".join(path): str(_get(document, path) or "") for path in _selects()}
    values |= {f"limits.{name}": str(_get(document, ("limits", name)) or "") for name in LIMITS}
    values["trust.publishers"] = "\n".join(_get(document, ("trust", "publishers")) or ())
    return PolicyForm(
        values=values,
        two_grave_reject=_flag(document, ("thresholds", "two_grave_reject"), is_default=True),
        own=_flag(document, ("review", "own"), is_default=False),
        trusted=frozenset(_trusted(document)),
        rows=show_rows(document),
    )


def apply_form(text: str, fields: Mapping[str, str], trusted: Sequence[str]) -> str:
    """Return the text of a valid policy with the values of a form, where these differ."""
    document = tomllib.loads(text)
    changes: list[tuple[PolicyPath, PolicyValue]] = []
    for path in _selects():
        typed = fields.get(".".join(path), "")
        if typed != str(_get(document, path) or ""):
            changes.append((path, typed or None))
    for name in LIMITS:
        path = ("limits", name)
        number = _number(fields.get(".".join(path), ""), path)
        if number != _get(document, path):
            changes.append((path, number))
    changes += _changed_lists(document, fields, trusted)
    changes += _changed_flags(document, fields)
    return edit(text, changes) if changes else text


def _changed_lists(
    document: dict[str, Any], fields: Mapping[str, str], trusted: Sequence[str]
) -> list[tuple[PolicyPath, PolicyValue]]:
    changes: list[tuple[PolicyPath, PolicyValue]] = []
    typed = [line.strip() for line in fields.get("trust.publishers", "").splitlines()]
    publishers = [line for line in typed if line]
    if publishers != (_get(document, ("trust", "publishers")) or []):
        changes.append((("trust", "publishers"), publishers or None))
    kinds = [kind for kind in TRUSTED_KINDS if kind in trusted]
    if set(kinds) != set(_trusted(document)):
        is_default = set(kinds) == set(Trust().kinds)
        changes.append((("trust", "kinds"), None if is_default else [str(one) for one in kinds]))
    return changes


def _changed_flags(
    document: dict[str, Any], fields: Mapping[str, str]
) -> list[tuple[PolicyPath, PolicyValue]]:
    changes: list[tuple[PolicyPath, PolicyValue]] = []
    flags: tuple[tuple[PolicyPath, bool], ...] = (
        (("thresholds", "two_grave_reject"), Thresholds().two_grave_reject),
        (("review", "own"), False),
    )
    for path, is_default in flags:
        is_on = ".".join(path) in fields
        if is_on != _flag(document, path, is_default=is_default):
            changes.append((path, None if is_on == is_default else is_on))
    return changes


def _selects() -> list[PolicyPath]:
    return [
        *(("thresholds", name) for name in LEVELS),
        *(("thresholds", kind, name) for kind in KINDS for name in LEVELS),
        ("trust", "up_to"),
    ]


def _number(typed: str, path: PolicyPath) -> int | None:
    text = typed.strip().replace(",", "").replace("_", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise PolicyInvalid("enter a whole number, or nothing for the built-in limit", at=path)
    return int(text)


def _trusted(document: dict[str, Any]) -> Sequence[str]:
    found = _get(document, ("trust", "kinds"))
    return Trust().kinds if found is None else found


def _flag(document: dict[str, Any], path: PolicyPath, *, is_default: bool) -> bool:
    found = _get(document, path)
    return is_default if found is None else bool(found)


def _get(document: dict[str, Any], path: PolicyPath) -> Any:
    found: Any = document
    for name in path:
        found = found.get(name, {})
    return None if found == {} else found
