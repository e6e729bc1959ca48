"""Third-party scanners: how they are run or called, how their output is read, and their effect."""

from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.model.verdict import Finding, Severity
from vskill_platform.secret_settings import Secret


class ExternalScanStatus(StrEnum):
    PENDING = "PENDING"  #: requested; the scanner has not confirmed that it started
    RUNNING = "RUNNING"
    PASS = "PASS"  # noqa: S105 - a status
    FAIL = "FAIL"
    ERROR = "ERROR"
    TIMED_OUT = "TIMED_OUT"


IN_FLIGHT = frozenset({ExternalScanStatus.PENDING, ExternalScanStatus.RUNNING})
#: States with a result.
ANSWERED = frozenset({ExternalScanStatus.PASS, ExternalScanStatus.FAIL})


#: Further findings of one scan are dropped.
MAX_FINDINGS = 100


class ExternalScanResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scan by a third-party scanner."""

    status: ExternalScanStatus
    findings: tuple[Finding, ...] = ()
    #: Why there is no result, or the number of findings.
    note: str = ""


class OnFail(StrEnum):
    REVIEW = "review"
    REJECT = "reject"


class ScannerRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The policy's setting for one scanner; scanners without one are not used."""

    name: str
    #: Whether it must pass before publication; otherwise it is informational only.
    required: bool = False
    #: The outcome if a required scanner fails.
    on_fail: OnFail = OnFail.REVIEW


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True):
    """How to parse the output of a scanner."""

    format: Literal["sarif", "json", "lines"]
    #: JSON: the path of the findings, and of the fields in each; dots separate nested keys.
    findings: str = ""
    rule: str = ""
    file: str = ""
    line: str = ""
    message: str = ""
    severity_at: str = ""
    #: Maps the scanner's severities to ours.
    severities: dict[str, Severity] = msgspec.field(default_factory=dict)
    #: For a finding without a severity.
    severity: Severity = Severity.MEDIUM
    #: Text: a pattern with the groups `file` and `rule`, optionally `line` and `message`.
    pattern: str = ""
    #: A text that appears in every complete output.
    complete: str = ""


class LocalScanner(msgspec.Struct, frozen=True, kw_only=True):
    """A program on this machine."""

    name: str
    program: str
    #: Passed as a list, never through a shell; `{folder}` and `{output}` are replaced.
    arguments: tuple[str, ...]
    reading: OutputFormat
    version_arguments: tuple[str, ...] = ("--version",)
    #: Where it writes its findings: standard output, or the file `{output}`.
    output: Literal["stdout", "file"] = "stdout"
    exit_clean: frozenset[int] = frozenset({0})
    exit_found: frozenset[int] = frozenset({1})
    #: A finding of at least this severity fails the scan.
    fail_on: Severity = Severity.HIGH
    deadline: timedelta = timedelta(seconds=30)
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    #: Configuration files with which a skill could disable the scanner. The skill's files with
    #: these names are not copied; these contents are written to the root instead.
    own_files: dict[str, str] = msgspec.field(default_factory=dict)


class RemoteScanner(msgspec.Struct, frozen=True, kw_only=True):
    """A service that receives the archive and reports the result by a callback."""

    name: str
    url: str
    #: Signs requests and callbacks.
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
    """Read the scanners of a policy; an error says what is wrong."""
    try:
        rules = msgspec.convert(tables, tuple[ScannerRule, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(
            f'"scanners": {error}; each is a table starting with [[scanners]], with a name and '
            'optionally required (true or false) and on_fail ("review" or "reject")'
        ) from error
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f'"scanners": {name} is listed twice')
    for rule in rules:
        if rule.on_fail is OnFail.REJECT and not rule.required:
            raise ConfigError(f'"scanners": {rule.name} can only reject if it is required')
    return rules
