"""Load the definitions of third-party scanners: built-in, from the operator, used by the policy."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import re2

from vskill_platform.errors import ConfigError
from vskill_platform.model.policy import Policy
from vskill_platform.model.scanner import (
    LocalScanner,
    OutputFormat,
    RemoteScanner,
    Scanner,
    ScannerInUse,
)
from vskill_platform.secret_settings import Secret, read_secret_file
from vskill_platform.setting_values import format_duration, parse_duration
from vskill_platform.settings import Settings, variable

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
FOLDER, OUTPUT = "{folder}", "{output}"
#: A shorter key is too easy to guess.
_MIN_KEY = 16


#: Keys in a program's table: those of its record, and those that describe its output.
_READING_KEYS = frozenset(field.name for field in msgspec.structs.fields(OutputFormat))
_LOCAL_KEYS = frozenset(field.name for field in msgspec.structs.fields(LocalScanner)) - {
    "name",
    "reading",
}
_REMOTE_KEYS = frozenset({"url", "key_file", "deadline"})
_KEYS = _READING_KEYS | _LOCAL_KEYS | _REMOTE_KEYS


def load_scanners(settings: Settings) -> dict[str, Scanner]:
    """Return every defined scanner by name; an error says which scanner is wrong."""
    tables = tomllib.loads(
        files("vskill_platform.scan.external").joinpath("scanners.toml").read_text("utf-8")
    )
    for name, table in _read_own(settings).items():
        if not _NAME.fullmatch(name) or not isinstance(table, dict):
            raise ConfigError(
                f"{variable('scanners')}: each scanner is a table such as [gitleaks] with a name "
                f"of lower-case letters, digits and hyphens; {name!r} is not"
            )
        tables[name] = {**tables.get(name, {}), **table}
    return {name: _scanner(name, table) for name, table in tables.items()}


def scanners_in_use(settings: Settings, policy: Policy) -> tuple[ScannerInUse, ...]:
    """Return the scanners that the policy names; one that cannot work prevents the start."""
    if not policy.scanners and not settings.scanners:
        return ()
    known = load_scanners(settings)
    used = []
    for rule in policy.scanners:
        if rule.name not in known:
            raise ConfigError(
                f"the policy names the scanner {rule.name!r}, which is not defined; "
                f"defined scanners: "
                f"{', '.join(known)}"
            )
        _check_use(known[rule.name], settings)
        used.append(ScannerInUse(known[rule.name], rule))
    return tuple(used)


def _check_use(scanner: Scanner, settings: Settings) -> None:
    if isinstance(scanner, RemoteScanner):
        if not settings.public_url:
            raise ConfigError(
                f"the scanner {scanner.name} must call back: set {variable('public_url')} to "
                "the URL under which it reaches this registry"
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


def _scanner(name: str, table: dict[str, Any]) -> Scanner:
    for key in table:
        if key not in _KEYS:
            raise ConfigError(
                f"the scanner {name}: {key!r} is unknown; allowed keys: {', '.join(sorted(_KEYS))}"
            )
    if bool(table.get("url")) == bool(table.get("program")):
        raise ConfigError(f"the scanner {name} needs a program or a url, and not both")
    try:
        scanner = _remote(name, table) if table.get("url") else _local(name, table)
        if text := table.get("deadline"):
            deadline = parse_duration(msgspec.convert(text, str))
            return msgspec.structs.replace(scanner, deadline=deadline)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise ConfigError(f"the scanner {name}: {error}") from error
    return scanner


def _remote(name: str, table: dict[str, Any]) -> RemoteScanner:
    address = msgspec.convert(table["url"], str)
    url = urlsplit(address)
    if url.scheme not in {"http", "https"} or not url.hostname or url.username or url.fragment:
        raise ConfigError(f"the scanner {name}: its url must be like https://host/path")
    if not table.get("key_file"):
        raise ConfigError(f"the scanner {name}: key_file must name a file with the shared key")
    key_file = msgspec.convert(table["key_file"], str)
    key = read_secret_file(f"the scanner {name}: key_file", key_file)
    if len(key) < _MIN_KEY:
        raise ConfigError(f"the scanner {name}: its key has fewer than {_MIN_KEY} characters")
    return RemoteScanner(name=name, url=address, key=Secret(key))


def _local(name: str, table: dict[str, Any]) -> LocalScanner:
    given = {key: table[key] for key in _LOCAL_KEYS & table.keys() - {"deadline"}}
    reading = msgspec.to_builtins(_reading(name, table))
    scanner = msgspec.convert(
        {"arguments": [], **given, "name": name, "reading": reading}, LocalScanner
    )
    if not any(FOLDER in argument for argument in scanner.arguments):
        raise ConfigError(f"the scanner {name}: one of its arguments must contain {FOLDER}")
    if (scanner.output == "file") != any(OUTPUT in argument for argument in scanner.arguments):
        raise ConfigError(
            f'the scanner {name}: {OUTPUT} must be used with output = "file", and only then'
        )
    return scanner


def _reading(name: str, table: dict[str, Any]) -> OutputFormat:
    if not table.get("format"):
        raise ConfigError(f'the scanner {name}: format must be "sarif", "json" or "lines"')
    reading = msgspec.convert(
        {key: table[key] for key in _READING_KEYS & table.keys()}, OutputFormat
    )
    if reading.format == "json" and not reading.rule:
        raise ConfigError(f"the scanner {name}: rule must say where a finding has its rule id")
    if reading.format == "lines":
        if not reading.complete:
            raise ConfigError(
                f"the scanner {name}: complete must say how to recognise complete output"
            )
        try:
            groups = re2.compile(reading.pattern).groupindex
        except re2.error as error:
            raise ConfigError(f"the scanner {name}: the pattern is invalid") from error
        if not {"file", "rule"} <= set(groups):
            raise ConfigError(f"the scanner {name}: the pattern needs the groups file and rule")
    return reading
