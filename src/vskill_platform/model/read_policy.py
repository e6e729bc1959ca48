"""Parse a policy from TOML, strictly: errors say what is wrong and what to write instead."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import (
    KindThresholds,
    Level,
    Limits,
    NamespacePolicy,
    Policy,
    ReviewRules,
    Suppression,
    Thresholds,
    Trust,
)
from vskill_platform.model.scanner import read_scanner_rules
from vskill_platform.model.verdict import SUPPRESSIBLE, FindingKind

#: How a value of each type is written, for error messages.
_WRITTEN = {str: "a string in quotes", date: "a date such as 2026-12-31, without quotes"}
#: Tables that a namespace can override. Suppressions have their own pattern for skills, and
#: scanners check every skill.
_OVERRIDABLE = ("thresholds", "trust", "limits", "review")
_PUBLISHER = re.compile(r"@[\w.-]+|[a-z0-9.:-]+/[^\s/*?]+")
#: The most that trust can ignore: neither evidence of an attack nor unreadable content.
_FORGIVABLE = frozenset({FindingKind.RISKY, FindingKind.IMITATION, FindingKind.EXPOSURE})

Table = TypeVar("Table", bound=msgspec.Struct)


def read_policy(text: str, *, rules: Mapping[str, FindingKind]) -> Policy:
    """Parse a policy; an error says what is wrong and what to write instead.

    *rules* are all known rules: a suppression of an unknown rule would have no effect.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"it is not valid TOML: {error}") from error
    _check_keys(document, _names(Policy), "the policy")
    everywhere = Policy(
        suppressions=tuple(
            _suppression(table, f"suppression {number}", rules)
            for number, table in enumerate(_tables(document, "suppressions"), start=1)
        ),
        scanners=read_scanner_rules(document.get("scanners", [])),
        **_decisions(document, ""),
    )
    namespaces = tuple(
        _namespace(table, f"namespace {number}", document, everywhere)
        for number, table in enumerate(_tables(document, "namespaces"), start=1)
    )
    return msgspec.structs.replace(everywhere, namespaces=namespaces)


def _tables(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    tables = document.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f'"{name}" must be an array of tables, each starting with [[{name}]]')
    return tables


def _namespace(
    table: dict[str, Any], place: str, document: dict[str, Any], everywhere: Policy
) -> NamespacePolicy:
    """Read the settings of a namespace, on top of those for all."""
    _check_keys(table, ("match", *_OVERRIDABLE), place)
    match = table.get("match")
    if not isinstance(match, str) or not match.strip():
        raise ConfigError(f'{place}: "match" is missing; give it a pattern such as "acme/*"')
    merged = {name: _merged(document.get(name, {}), table.get(name, {})) for name in _OVERRIDABLE}
    policy = msgspec.structs.replace(everywhere, **_decisions(merged, f"{place}: "))
    return NamespacePolicy(match=match, policy=policy)


def _merged(general: Any, special: Any) -> Any:
    if not isinstance(general, dict) or not isinstance(special, dict):
        return special
    return {**general, **{key: _merged(general.get(key), item) for key, item in special.items()}}


def _decisions(document: dict[str, Any], place: str) -> dict[str, Any]:
    """Read the tables that are allowed at the top level and in a namespace."""
    thresholds = _table(document, "thresholds", Thresholds, place)
    trust = _table(document, "trust", Trust, place)
    _check_thresholds(thresholds, f"{place}[thresholds]")
    return {
        "thresholds": thresholds,
        "trust": _checked_trust(trust, f"{place}[trust]"),
        "limits": _table(document, "limits", Limits, place),
        "review": _table(document, "review", ReviewRules, place),
    }


def _table(document: dict[str, Any], name: str, kind: type[Table], place: str) -> Table:
    table = document.get(name, {})
    where = f"{place}[{name}]"
    if not isinstance(table, dict):
        raise ConfigError(f'{place}"{name}" must be a table, starting with [{name}]')
    _check_keys(table, _names(kind), where)
    for key, value in table.items():
        if isinstance(value, dict):
            _check_keys(value, _names(KindThresholds), f"{where} {key}")
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{where}: {error}; levels are {', '.join(Level)}, docs/policy.md has all keys"
        ) from error


def _check_thresholds(thresholds: Thresholds, place: str) -> None:
    for kind in FindingKind:
        levels = thresholds.levels(kind)
        if not levels.is_in_order:
            raise ConfigError(
                f'{place}: {kind} findings would be rejected at "{levels.reject_at}" before they '
                f'reach review at "{levels.review_at}"; set review_at to that level or lower'
            )


def _checked_trust(trust: Trust, place: str) -> Trust:
    publishers = tuple(publisher.lower() for publisher in trust.publishers)
    for publisher in publishers:
        if not _PUBLISHER.fullmatch(publisher):
            raise ConfigError(
                f'{place}: "{publisher}" is not a publisher; use host and owner, such as '
                '"github.com/acme", or the namespace of uploads, such as "@acme"'
            )
    for kind in trust.kinds:
        if kind not in _FORGIVABLE:
            raise ConfigError(
                f"{place}: trust cannot ignore {kind} findings, only "
                f"{', '.join(sorted(_FORGIVABLE))}"
            )
    if trust.up_to in {Level.CRITICAL, Level.NEVER}:
        raise ConfigError(f'{place}: "up_to" must be high, medium, low or info')
    return msgspec.structs.replace(trust, publishers=publishers)


def _names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(kind))


def _suppression(
    table: dict[str, Any], place: str, rules: Mapping[str, FindingKind]
) -> Suppression:
    _check_keys(table, _names(Suppression), place)
    for field in msgspec.structs.fields(Suppression):
        if field.name in table:
            _check_value(table[field.name], field.type, f'{place}: "{field.name}"')
        elif field.required:
            raise ConfigError(f'{place}: "{field.name}" is missing; give it {_WRITTEN[field.type]}')
    _check_rule(table["rule"], place, rules)
    if table["path"].startswith(("/", "./", "../")):
        raise ConfigError(
            f'{place}: "path" is relative to the skill\'s folder, for example scripts/*.sh'
        )
    return Suppression(**table)


def _check_keys(table: dict[str, Any], allowed: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in allowed:
            meant = get_close_matches(key, allowed, n=1)
            hint = f' (did you mean "{meant[0]}"?)' if meant else ""
            raise ConfigError(f'{place}: "{key}" is unknown{hint}; allowed: {", ".join(allowed)}')


def _check_value(value: object, kind: Any, place: str) -> None:
    # In Python a datetime is also a date; here it would expire at midnight of another time zone.
    if not isinstance(value, kind) or isinstance(value, datetime):
        raise ConfigError(f"{place} must be {_WRITTEN[kind]}")
    if isinstance(value, str) and not value.strip():
        raise ConfigError(f"{place} is empty")


def _check_rule(rule: str, place: str, rules: Mapping[str, FindingKind]) -> None:
    if rule not in rules:
        raise ConfigError(
            f'{place}: there is no rule "{rule}"; `vskill-platform scan --explain all` lists them'
        )
    if rules[rule] not in SUPPRESSIBLE:
        raise ConfigError(
            f"{place}: {rule} reports an invalid or unreadable file, which cannot be suppressed; "
            "remove this suppression"
        )
