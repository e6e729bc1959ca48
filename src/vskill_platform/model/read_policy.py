"""Parse a policy from TOML, strictly: errors say what is wrong and what to write instead."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

import msgspec

from vskill_platform.errors import ConfigError, PolicyInvalid
from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    NamespacePolicy,
    Policy,
    PolicyLimits,
    ReviewRules,
    Suppression,
    Thresholds,
    Trust,
)
from vskill_platform.model.scanner import ScannerRule, read_scanner_rules
from vskill_platform.model.verdict import SUPPRESSIBLE, FindingKind

#: How a value of each type is written, for error messages.
_WRITTEN = {str: "a string in quotes", date: "a date such as 2026-12-31, without quotes"}
#: Tables that a namespace can override. Suppressions have their own pattern for skills, and
#: scanners check every skill.
_OVERRIDABLE = ("thresholds", "trust", "limits", "review")
_PUBLISHER = re.compile(r"@[\w.-]+|[a-z0-9.:-]+/[^\s/*?]+")
#: The kinds that an exemption can cover: neither evidence of an attack nor unreadable content.
_FORGIVABLE = frozenset({FindingKind.RISKY, FindingKind.IMITATION, FindingKind.EXPOSURE})

#: How tomllib reports the position of a syntax error.
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
#: How msgspec reports the position of a wrong value.
_AT_KEY = re.compile(r"`\$\.([\w.]+)")
_AT_SCANNER = re.compile(r"`\$\[(\d+)\]\.?(\w*)")

Table = TypeVar("Table", bound=msgspec.Struct)


class _Place(NamedTuple):
    """A part of the policy: in words, and as the keys that lead to it."""

    words: str
    at: tuple[str | int, ...] = ()

    def invalid(self, message: str, *keys: str) -> PolicyInvalid:
        return PolicyInvalid(f"{self.words}: {message}", at=(*self.at, *keys))


def read_policy(text: str, *, rules: Mapping[str, FindingKind] | None) -> Policy:
    """Parse a policy; an error says what is wrong, where, and what to write instead.

    *rules* are all known rules: a suppression of an unknown rule would have no effect. None
    accepts any, for a saved policy: another release may have other rules.
    """
    document = parse_toml(text)
    _check_keys(document, _names(Policy), _Place("the policy"))
    everywhere = Policy(
        suppressions=tuple(
            _suppression(table, _Place(f"suppression {index + 1}", ("suppressions", index)), rules)
            for index, table in enumerate(_tables(document, "suppressions"))
        ),
        scanners=_scanners(document),
        **_decisions(document, _Place("")),
    )
    namespaces = tuple(
        _namespace(
            table, _Place(f"namespace {index + 1}", ("namespaces", index)), document, everywhere
        )
        for index, table in enumerate(_tables(document, "namespaces"))
    )
    return msgspec.structs.replace(everywhere, namespaces=namespaces)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; the error names the line."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _AT_LINE.search(str(error))
        at_end = text.count("\n") + (not text.endswith("\n"))
        line = int(found[1] or at_end) if found else 0
        raise PolicyInvalid(f"it is not valid TOML: {error}", line=line) from error


def _scanners(document: dict[str, Any]) -> tuple[ScannerRule, ...]:
    try:
        return read_scanner_rules(document.get("scanners", []))
    except ConfigError as error:
        found = _AT_SCANNER.search(str(error))
        raise PolicyInvalid(
            str(error), at=("scanners", int(found[1]), found[2]) if found else ("scanners",)
        ) from error


def _tables(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise PolicyInvalid(
            f'"{name}" must be an array of tables, each starting with [[{name}]]', at=(name,)
        )
    return tables


def _namespace(
    table: dict[str, Any], place: _Place, document: dict[str, Any], everywhere: Policy
) -> NamespacePolicy:
    """Read the settings of a namespace, which override those for all."""
    _check_keys(table, ("match", *_OVERRIDABLE), place)
    match = table.get("match")
    if not isinstance(match, str) or not match.strip():
        raise place.invalid('"match" is missing; give it a pattern such as "acme/*"', "match")
    merged = {name: _merged(document.get(name, {}), table.get(name, {})) for name in _OVERRIDABLE}
    inside = _Place(f"{place.words}: ", place.at)
    policy = msgspec.structs.replace(everywhere, **_decisions(merged, inside))
    return NamespacePolicy(match=match, policy=policy)


def _merged(general: Any, special: Any) -> Any:
    if not isinstance(general, dict) or not isinstance(special, dict):
        return special
    return {**general, **{key: _merged(general.get(key), item) for key, item in special.items()}}


def _decisions(document: dict[str, Any], place: _Place) -> dict[str, Any]:
    """Read the tables that are allowed at the top level and in a namespace."""
    thresholds = _table(document, "thresholds", Thresholds, place)
    trust = _table(document, "trust", Trust, place)
    _check_thresholds(thresholds, _inside(place, "thresholds"))
    return {
        "thresholds": thresholds,
        "trust": _checked_trust(trust, _inside(place, "trust")),
        "limits": _table(document, "limits", PolicyLimits, place),
        "review": _table(document, "review", ReviewRules, place),
    }


def _inside(place: _Place, name: str) -> _Place:
    return _Place(f"{place.words}[{name}]", (*place.at, name))


def _table(document: dict[str, Any], name: str, kind: type[Table], place: _Place) -> Table:
    table = document.get(name, {})
    where = _inside(place, name)
    if not isinstance(table, dict):
        raise PolicyInvalid(
            f'{place.words}"{name}" must be a table, starting with [{name}]', at=where.at
        )
    _check_keys(table, _names(kind), where)
    for key, value in table.items():
        if isinstance(value, dict):
            _check_keys(value, _names(KindThresholds), _Place(f"{where.words} {key}", where.at))
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        found = _AT_KEY.search(str(error))
        raise where.invalid(
            f"{error}. Levels are {', '.join(Level)}; docs/policy.md lists all keys",
            *(found[1].split(".") if found else ()),
        ) from error


def _check_thresholds(thresholds: Thresholds, place: _Place) -> None:
    for kind in FindingKind:
        levels = thresholds.levels(kind)
        if not levels.is_in_order:
            own = getattr(thresholds, kind, None)
            raise place.invalid(
                f'{kind} findings would be rejected at "{levels.reject_at}" before they '
                f'reach review at "{levels.review_at}"; set review_at to that level or lower',
                *((kind,) if own != KindThresholds() else ()),
                "review_at",
            )


def _checked_trust(trust: Trust, place: _Place) -> Trust:
    publishers = tuple(publisher.lower() for publisher in trust.publishers)
    for publisher in publishers:
        if not _PUBLISHER.fullmatch(publisher):
            raise place.invalid(
                f'"{publisher}" is not a publisher; use host and owner, such as '
                '"github.com/acme", or the namespace of uploads, such as "@acme"',
                "publishers",
            )
    for kind in trust.kinds:
        if kind not in _FORGIVABLE:
            raise place.invalid(
                f"trust cannot ignore {kind} findings, only {', '.join(sorted(_FORGIVABLE))}",
                "kinds",
            )
    if trust.up_to in {Level.CRITICAL, Level.NEVER}:
        raise place.invalid('"up_to" must be high, medium, low or info', "up_to")
    return msgspec.structs.replace(trust, publishers=publishers)


def _names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(kind))


def _suppression(
    table: dict[str, Any], place: _Place, rules: Mapping[str, FindingKind] | None
) -> Suppression:
    _check_keys(table, _names(Suppression), place)
    for field in msgspec.structs.fields(Suppression):
        if field.name in table:
            _check_value(table[field.name], field.type, place, field.name)
        elif field.required:
            raise place.invalid(
                f'"{field.name}" is missing; give it {_WRITTEN[field.type]}', field.name
            )
    if rules is not None:
        _check_rule(table["rule"], place, rules)
    if table["path"].startswith(("/", "./", "../")):
        raise place.invalid(
            '"path" is relative to the skill\'s folder, for example scripts/*.sh', "path"
        )
    return Suppression(**table)


def _check_keys(table: dict[str, Any], allowed: tuple[str, ...], place: _Place) -> None:
    for key in table:
        if key not in allowed:
            meant = get_close_matches(key, allowed, n=1)
            hint = f' (did you mean "{meant[0]}"?)' if meant else ""
            raise place.invalid(f'"{key}" is unknown{hint}; allowed: {", ".join(allowed)}', key)


def _check_value(value: object, kind: Any, place: _Place, name: str) -> None:
    # In Python a datetime is also a date; here it would expire at midnight of another time zone.
    if not isinstance(value, kind) or isinstance(value, datetime):
        raise place.invalid(f'"{name}" must be {_WRITTEN[kind]}', name)
    if isinstance(value, str) and not value.strip():
        raise place.invalid(f'"{name}" is empty', name)


def _check_rule(rule: str, place: _Place, rules: Mapping[str, FindingKind]) -> None:
    if rule not in rules:
        raise place.invalid(
            f'there is no rule "{rule}"; `vskill-platform scan --explain all` lists them', "rule"
        )
    if rules[rule] not in SUPPRESSIBLE:
        raise place.invalid(
            f"{rule} reports an invalid or unreadable file, which cannot be suppressed; "
            "remove this suppression",
            "rule",
        )
