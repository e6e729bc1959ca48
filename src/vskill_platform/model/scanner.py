"""Third-party scanners: how one is run or called, how its output is parsed, and its weight."""

from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.settings import Secret


class ExternalScanStatus(StrEnum):
    PENDING = "PENDING"  #: requested, not claimed yet
    RUNNING = "RUNNING"
    PASS = "PASS"  # noqa: S105 - a status
    FAIL = "FAIL"
    ERROR = "ERROR"
    TIMED_OUT = "TIMED_OUT"


IN_FLIGHT = frozenset({ExternalScanStatus.PENDING, ExternalScanStatus.RUNNING})
#: The scanner has a result about the skill.
ANSWERED = frozenset({ExternalScanStatus.PASS, ExternalScanStatus.FAIL})


#: More findings of one scan are not kept.
MAX_FINDINGS = 100


class ExternalScanResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scan by a third-party scanner."""

    status: ExternalScanStatus
    findings: tuple[Finding, ...] = ()
    #: Why there is no result, or how many findings there are.
    note: str = ""


class OnFail(StrEnum):
    REVIEW = "review"
    REJECT = "reject"


class ScannerRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the policy says about one scanner; scanners it does not name are not used."""

    name: str
    #: Whether it must pass before publication; otherwise it only informs.
    required: bool = False
    #: What follows if a required one fails.
    on_fail: OnFail = OnFail.REVIEW


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How to parse a program's output."""

    format: Literal["sarif", "json", "lines"]
    #: JSON: the path of the findings, and the paths of their parts; dots lead into objects.
    findings: str = ""
    rule: str = ""
    file: str = ""
    line: str = ""
    message: str = ""
    severity_at: str = ""
    #: The meaning of the scanner's severities.
    severities: dict[str, Severity] = msgspec.field(default_factory=dict)
    #: For a finding without a severity.
    severity: Severity = Severity.MEDIUM
    #: Lines: a pattern with the groups `file`, `rule`, and optionally `line` and `message`.
    pattern: str = ""
    #: Text that complete output must contain.
    complete: str = ""


class LocalScanner(msgspec.Struct, frozen=True, kw_only=True):
    """A program on this machine."""

    name: str
    program: str
    #: Arguments, never for a shell; `{folder}` and `{output}` are replaced.
    arguments: tuple[str, ...]
    reading: Reading
    version_arguments: tuple[str, ...] = ("--version",)
    #: Where its findings are: in its output, or in the file `{output}`.
    output: Literal["stdout", "file"] = "stdout"
    exit_clean: frozenset[int] = frozenset({0})
    exit_found: frozenset[int] = frozenset({1})
    #: A finding of at least this severity makes it fail.
    fail_on: Severity = Severity.HIGH
    deadline: timedelta = timedelta(seconds=30)
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: Files by which a skill could disable the scanner: none with these names is copied, and the
    #: given content is put at the root.
    own_files: dict[str, str] = msgspec.field(default_factory=dict)


class RemoteScanner(msgspec.Struct, frozen=True, kw_only=True):
    """A service that is sent the archive and calls back."""

    name: str
    url: str
    #: Signs our requests and its answers.
    key: Secret
    deadline: timedelta = timedelta(minutes=20)


Scanner = LocalScanner | RemoteScanner


class ScannerInUse(msgspec.Struct, frozen=True):
    scanner: Scanner
    rule: ScannerRule

    @property
    def name(self) -> str:
        return self.scanner.name


def read_scanner_rules(tables: Any) -> tuple[ScannerRule, ...]:
    """Read the scanner rules of a policy; an error says what is wrong."""
    try:
        rules = msgspec.convert(tables, tuple[ScannerRule, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(
            f'"scanners": {error}; each is a table with [[scanners]] above it, a name, and if you '
            'like required (true or false) and on_fail ("review" or "reject")'
        ) from error
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f'"scanners": {name} is named twice')
    for rule in rules:
        if rule.on_fail is OnFail.REJECT and not rule.required:
            raise ConfigError(f'"scanners": {rule.name} can reject only if it is required')
    return rules
