"""Which scanners there are and which are used: our definitions, the operator's, and the policy."""

import re
import tomllib
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
import re2

from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import (
    LocalScanner,
    Reading,
    RemoteScanner,
    Scanner,
    ScannerInUse,
)
from vskill_platform.model.verdict import Severity
from vskill_platform.settings import (
    Secret,
    Settings,
    format_duration,
    parse_duration,
    read_secret_file,
    variable,
)

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
FOLDER, OUTPUT = "{folder}", "{output}"
#: A key that is easier to guess protects nothing.
_MIN_KEY = 16


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a scanner is written down in TOML."""

    program: str = ""
    arguments: tuple[str, ...] = ()
    version_arguments: tuple[str, ...] = ("--version",)
    output: Literal["stdout", "file"] = "stdout"
    format: Literal["sarif", "json", "lines", ""] = ""
    findings: str = ""
    rule: str = ""
    file: str = ""
    line: str = ""
    message: str = ""
    severity_at: str = ""
    severities: dict[str, Severity] = msgspec.field(default_factory=dict)
    severity: Severity = Severity.MEDIUM
    pattern: str = ""
    complete: str = ""
    exit_clean: frozenset[int] = frozenset({0})
    exit_found: frozenset[int] = frozenset({1})
    fail_on: Severity = Severity.HIGH
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    own_files: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    key_file: str = ""
    deadline: str = ""


def load_scanners(settings: Settings) -> dict[str, Scanner]:
    """Return every scanner that is defined, by its name; what is wrong with one is named."""
    tables = tomllib.loads(
        files("vskill_platform.scan.external").joinpath("scanners.toml").read_text("utf-8")
    )
    for name, table in _read_own(settings).items():
        if not _NAME.fullmatch(name) or not isinstance(table, dict):
            raise ConfigError(
                f"{variable('scanners')}: each scanner is a table like [gitleaks], its name in "
                f"small letters, digits and hyphens; {name!r} is not"
            )
        tables[name] = {**tables.get(name, {}), **table}
    return {name: _scanner(name, table) for name, table in tables.items()}


def scanners_in_use(settings: Settings, policy: Policy) -> tuple[ScannerInUse, ...]:
    """Return the scanners that the policy names; one that could never answer stops the start."""
    if not policy.scanners and not settings.scanners:
        return ()
    known = load_scanners(settings)
    used = []
    for rule in policy.scanners:
        if rule.name not in known:
            raise ConfigError(
                f"the policy names the scanner {rule.name!r}, which is not defined; defined are: "
                f"{', '.join(known)}"
            )
        _check_use(known[rule.name], settings)
        used.append(ScannerInUse(known[rule.name], rule))
    return tuple(used)


def _check_use(scanner: Scanner, settings: Settings) -> None:
    if isinstance(scanner, RemoteScanner):
        if not settings.public_url:
            raise ConfigError(
                f"the scanner {scanner.name} has to call back: set {variable('public_url')} to "
                "the address under which it reaches this registry"
            )
    elif scanner.deadline >= settings.message_deadline:
        raise ConfigError(
            f"the scanner {scanner.name} may take {format_duration(scanner.deadline)}, which must "
            f"be shorter than {variable('message_deadline')} "
            f"({format_duration(settings.message_deadline)})"
        )


def _read_own(settings: Settings) -> dict[str, Any]:
    if not settings.scanners:
        return {}
    place = f"{variable('scanners')}={settings.scanners}"
    try:
        return tomllib.loads(Path(settings.scanners).read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{place}: the file cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{place}: it is not TOML: {error}") from error


def _scanner(name: str, values: dict[str, Any]) -> Scanner:
    try:
        table = msgspec.convert(values, _Table)
        deadline = parse_duration(table.deadline) if table.deadline else None
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigError(f"the scanner {name}: {error}") from error
    if bool(table.url) == bool(table.program):
        raise ConfigError(f"the scanner {name} needs a program or a url, and not both")
    return _remote(name, table, deadline) if table.url else _local(name, table, deadline)


def _remote(name: str, table: _Table, deadline: timedelta | None) -> RemoteScanner:
    url = urlsplit(table.url)
    if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.fragment:
        raise ConfigError(f"the scanner {name}: its url must be like https://host/path")
    if not table.key_file:
        raise ConfigError(f"the scanner {name}: key_file must name a file with the common key")
    key = read_secret_file(f"the scanner {name}: key_file", table.key_file)
    if len(key) < _MIN_KEY:
        raise ConfigError(f"the scanner {name}: its key has fewer than {_MIN_KEY} characters")
    scanner = RemoteScanner(name=name, url=table.url, key=Secret(key))
    return msgspec.structs.replace(scanner, deadline=deadline) if deadline else scanner


def _local(name: str, table: _Table, deadline: timedelta | None) -> LocalScanner:
    if not any(FOLDER in argument for argument in table.arguments):
        raise ConfigError(f"the scanner {name}: one of its arguments must hold {FOLDER}")
    if (table.output == "file") != any(OUTPUT in argument for argument in table.arguments):
        raise ConfigError(
            f'the scanner {name}: {OUTPUT} belongs to output = "file", and only to it'
        )
    reading = _reading(name, table)
    shared = {
        field: getattr(table, field)
        for field in (
            "program", "arguments", "version_arguments", "output", "exit_clean", "exit_found",
            "fail_on", "environment", "own_files",
        )
    }  # fmt: skip
    scanner = LocalScanner(name=name, reading=reading, **shared)
    return msgspec.structs.replace(scanner, deadline=deadline) if deadline else scanner


def _reading(name: str, table: _Table) -> Reading:
    if not table.format:
        raise ConfigError(f'the scanner {name}: format must be "sarif", "json" or "lines"')
    if table.format == "json" and not table.rule:
        raise ConfigError(f"the scanner {name}: rule must say where a finding names its rule")
    if table.format == "lines":
        if not table.complete:
            raise ConfigError(f"the scanner {name}: complete must say how a whole output is known")
        try:
            groups = re2.compile(table.pattern).groupindex
        except re2.error as error:
            raise ConfigError(f"the scanner {name}: the pattern cannot be read") from error
        if not {"file", "rule"} <= set(groups):
            raise ConfigError(f"the scanner {name}: the pattern needs the groups file and rule")
    values = {field.name: getattr(table, field.name) for field in msgspec.structs.fields(Reading)}
    return Reading(**values)
