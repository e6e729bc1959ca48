"""Read SARIF 2.1.0 from third-party scanners: results with the severity of their rules.

Some tools write null where the standard requires an empty list. Except for results, this is
equivalent.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from vskill_platform.errors import ScannerFailed
from vskill_platform.model.verdict import Severity

_LEVELS = {
    "error": Severity.HIGH,
    "warning": Severity.MEDIUM,
    "note": Severity.LOW,
    "none": Severity.INFO,
}
#: The thresholds of `security-severity` on large code hosts.
_SCORES = ((9.0, Severity.CRITICAL), (7.0, Severity.HIGH), (4.0, Severity.MEDIUM))
#: Kinds of results that do not report a problem.
_FINE = frozenset({"pass", "notApplicable"})


class _Message(msgspec.Struct, frozen=True):
    text: str = ""


class _Artifact(msgspec.Struct, frozen=True):
    uri: str = ""


class _Region(msgspec.Struct, frozen=True, rename="camel"):
    start_line: int | None = None


class _Physical(msgspec.Struct, frozen=True, rename="camel"):
    artifact_location: _Artifact = _Artifact()
    region: _Region = _Region()


class _Location(msgspec.Struct, frozen=True, rename="camel"):
    physical_location: _Physical = _Physical()


class _Configuration(msgspec.Struct, frozen=True):
    level: str | None = None


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    default_configuration: _Configuration = _Configuration()
    properties: dict[str, Any] | None = None


class _Driver(msgspec.Struct, frozen=True):
    rules: list[_Rule] | None = None


class _Tool(msgspec.Struct, frozen=True):
    driver: _Driver


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    message: _Message
    rule_id: str = ""
    rule_index: int = -1
    kind: str = "fail"
    level: str | None = None
    locations: list[_Location] | None = None
    properties: dict[str, Any] | None = None


class _Invocation(msgspec.Struct, frozen=True, rename="camel"):
    execution_successful: bool


class _Run(msgspec.Struct, frozen=True):
    tool: _Tool
    #: Missing or null means that nothing was scanned, which is not the same as no findings.
    results: list[_Result]
    invocations: list[_Invocation] | None = None


class _Log(msgspec.Struct, frozen=True):
    version: str
    runs: list[_Run]


class SarifResult(msgspec.Struct, frozen=True, kw_only=True):
    rule: str
    message: str
    severity: Severity | None
    file: str
    line: int | None


def read_sarif(text: str) -> Iterator[SarifResult]:
    """Yield every result, even suppressed ones, because the skill may contain the suppression.

    Raises ScannerFailed or msgspec's errors if this is not the log of a completed scan.
    """
    log = msgspec.json.decode(text, type=_Log)
    if not log.version.startswith("2.") or not log.runs:
        raise ScannerFailed("its output contains no scan")
    for run in log.runs:
        if not all(invocation.execution_successful for invocation in run.invocations or ()):
            raise ScannerFailed("it reports that its scan failed")
        rules = run.tool.driver.rules or []
        by_id = {rule.id: rule for rule in rules}
        for result in run.results:
            if result.kind not in _FINE:
                yield _read(result, _rule_of(result, rules, by_id))


def _rule_of(result: _Result, rules: list[_Rule], by_id: dict[str, _Rule]) -> _Rule:
    if result.rule_id in by_id:
        return by_id[result.rule_id]
    if 0 <= result.rule_index < len(rules):
        return rules[result.rule_index]
    return _Rule(id=result.rule_id)


def _read(result: _Result, rule: _Rule) -> SarifResult:
    first = result.locations[0].physical_location if result.locations else _Physical()
    return SarifResult(
        rule=result.rule_id or rule.id,
        message=result.message.text,
        severity=_severity(result, rule),
        file=first.artifact_location.uri,
        line=first.region.start_line,
    )


def _severity(result: _Result, rule: _Rule) -> Severity | None:
    """Return the highest severity in result and rule; None if neither contains one."""
    for properties in (result.properties, rule.properties):
        if properties and "security-severity" in properties:
            value = float(properties["security-severity"])
            return next((name for least, name in _SCORES if value >= least), Severity.LOW)
    level = result.level or rule.default_configuration.level
    return _LEVELS[level] if level else None
