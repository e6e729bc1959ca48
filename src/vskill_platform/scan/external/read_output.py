"""Parse a scanner's output into findings; unreadable output is an error, never a pass."""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec
import re2

from vskill_platform.base.show_text import show
from vskill_platform.errors import ScannerFailed
from vskill_platform.model.scanner import MAX_FINDINGS, OutputFormat
from vskill_platform.model.verdict import Finding, FindingKind, Severity
from vskill_platform.scan.external.read_sarif import read_sarif
from vskill_platform.scan.facts.facts import storable
from vskill_platform.scan.facts.leaked_secrets import redact

_MAX_MESSAGE = 500
_MAX_RULE = 120
_MAX_LINE = 10_000_000
_FIX = "Check this location; if it is a false positive, tell the reviewer why."
_ORDER = {severity: place for place, severity in enumerate(Severity)}


class ScannerFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding, worded by the scanner."""

    rule: str
    message: str = ""
    severity: Severity | None = None
    file: str = ""
    line: int | None = None


def read_output(output: bytes, reading: OutputFormat) -> list[ScannerFinding]:
    """Return the findings in the output; raise ScannerFailed if it does not match its format."""
    try:
        text = output.decode()
        if reading.complete not in text:
            raise ScannerFailed("its output was cut off")
        return list(_READERS[reading.format](text, reading))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ScannerFailed("its output cannot be read") from error


class ScannedFolder(msgspec.Struct, frozen=True):
    """The scanned folder, with all names that a scanner may use for it."""

    folders: tuple[str, ...] = ()
    #: The files in the folder; empty if unknown.
    paths: frozenset[str] = frozenset()


def _as_finding(
    found: ScannerFinding, place: ScannedFolder, *, scanner: str, default: Severity
) -> Finding:
    """Create a finding of kind external, with a path inside the skill and sanitised text."""
    file = file_of(found.file, place)
    text = found.message or found.rule
    for folder in place.folders:
        text = text.replace(f"{folder}/", "").replace(folder, "the skill")
    rule = show(storable(found.rule), limit=_MAX_RULE) or "unnamed"
    return Finding(
        rule=f"{scanner}/{rule}",
        severity=found.severity or default,
        kind=FindingKind.EXTERNAL,
        message=f"{scanner}: {show(redact(storable(text)), limit=_MAX_MESSAGE)}",
        fix=_FIX,
        file=file,
        line=found.line if file and found.line and 0 < found.line <= _MAX_LINE else None,
    )


def file_of(found: str, place: ScannedFolder) -> str | None:
    """Return a path inside the skill; None if the scanner names no file or one outside."""
    path = unquote(found.removeprefix("file://")) if found.startswith("file:") else found
    for folder in place.folders:
        path = path.removeprefix(f"{folder}/")
    clean = posixpath.normpath(storable(path)) if path else ""
    # Some paths start with the folder's name, and some have %20 for spaces.
    for other in (unquote(clean), clean.partition("/")[2], unquote(clean.partition("/")[2])):
        if clean not in place.paths and other in place.paths:
            clean = other
    if clean in {"", "."} or clean.startswith(("/", "../")) or clean == "..":
        return None
    return show(clean)


def as_findings(
    found: Sequence[ScannerFinding], place: ScannedFolder, *, scanner: str, default: Severity
) -> tuple[Finding, ...]:
    """Convert all results to findings, or only the most severe if there are too many."""
    graded = sorted(found, key=lambda item: _ORDER[item.severity or default])
    return tuple(
        _as_finding(item, place, scanner=scanner, default=default) for item in graded[:MAX_FINDINGS]
    )


def is_at_least(severity: Severity, least: Severity) -> bool:
    return _ORDER[severity] <= _ORDER[least]


def _sarif(text: str, _reading: OutputFormat) -> Iterator[ScannerFinding]:
    for result in read_sarif(text):
        yield ScannerFinding(
            rule=result.rule,
            message=result.message,
            severity=result.severity,
            file=result.file,
            line=result.line,
        )


def _json(text: str, reading: OutputFormat) -> Iterator[ScannerFinding]:
    found = _at(msgspec.json.decode(text), reading.findings)
    if not isinstance(found, list):
        raise TypeError
    for item in found:
        rule, message = _at(item, reading.rule), _get(item, reading.message)
        file, line = _get(item, reading.file), _get(item, reading.line)
        word = _get(item, reading.severity_at)
        yield ScannerFinding(
            rule=str(rule),
            message=str(message or ""),
            severity=_severity(str(word), reading) if word is not None else None,
            file=str(file or ""),
            line=int(line) if line is not None else None,
        )


def _lines(text: str, reading: OutputFormat) -> Iterator[ScannerFinding]:
    pattern = re2.compile(reading.pattern)
    for line in text.splitlines():
        found = pattern.search(line)
        if found:
            parts = found.groupdict()
            number = parts.get("line")
            yield ScannerFinding(
                rule=parts["rule"],
                message=parts.get("message") or "",
                file=parts["file"],
                line=int(number) if number else None,
            )


def _severity(word: str, reading: OutputFormat) -> Severity:
    """Translate a severity; an unknown one is an error, because it may be the highest."""
    if word in reading.severities:
        return reading.severities[word]
    return Severity(word.lower())


def _at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        value = value[part]
    return value


def _get(value: Any, path: str) -> Any:
    """Return the value at *path*, or None: not every finding has every part."""
    if not path:
        return None
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


_READERS = {"sarif": _sarif, "json": _json, "lines": _lines}
