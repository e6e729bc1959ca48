"""Settings for mirrors: read and check the file that lists the registries to mirror."""

import re
import tomllib
from datetime import timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.secret_settings import Secret, read_secret_file
from vskill_platform.setting_values import is_loopback, is_plain_url, parse_duration

_VARIABLE = "VSKILL_MIRRORS"
#: No underscore, which separates the name from the owner in the namespaces of mirrored skills.
_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,19}")
_MAX_MIRRORS = 50
_MAX_PATTERNS, _MAX_PATTERN = 1_000, 200
_MAX_AGE = timedelta(days=365)


class MirrorKind(StrEnum):
    """The protocol with which a registry is read."""

    VSKILL = "vskill"
    DISCOVERY = "discovery"
    CLAWHUB = "clawhub"


class Mirror(msgspec.Struct, frozen=True, kw_only=True):
    """A registry whose skills are fetched on request."""

    name: str
    kind: MirrorKind
    url: str
    #: Sent to this registry only.
    token: Secret = msgspec.field(default_factory=Secret)
    #: Patterns of names that may be fetched, and of names that may not, which take precedence.
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    #: The minimum age of a version.
    min_age: timedelta = timedelta(0)
    #: Whether only skills that are already here are served.
    offline: bool = False

    def takes(self, name: str) -> bool:
        """Return whether the lists of the operator allow this name."""
        return _matches(name, self.allow) and not _matches(name, self.deny)


class _Table(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A mirror in the form of the file."""

    kind: MirrorKind
    url: str
    token_file: str = ""
    allow: list[str] = msgspec.field(default_factory=lambda: ["*"])
    deny: list[str] = msgspec.field(default_factory=list)
    min_age: str = "0s"
    offline: bool = False


def read_mirrors(path: str) -> tuple[Mirror, ...]:
    """Return the mirrors in a file; none without one."""
    if not path:
        return ()
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{_VARIABLE}={path}: the file cannot be read: {error.strerror}"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{_VARIABLE}={path}: it is not TOML: {error}") from error
    if len(tables) > _MAX_MIRRORS:
        raise ConfigError(f"{_VARIABLE}={path} has more than {_MAX_MIRRORS} mirrors")
    return tuple(_read_mirror(name, table) for name, table in tables.items())


def check_mirrors(path: str, every: timedelta, *, private_origins: frozenset[str]) -> None:
    """Refuse settings of mirrors that could not work."""
    if not timedelta(minutes=1) <= every <= timedelta(days=7):
        raise ConfigError("VSKILL_MIRROR_EVERY must be between 1m and 7d")
    if path and not Path(path).is_absolute():
        raise ConfigError(f"{_VARIABLE}={path}: use an absolute path")
    for mirror in read_mirrors(path):
        parts = urlsplit(mirror.url)
        is_listed = f"http://{parts.hostname}:{parts.port or 80}" in private_origins
        if parts.scheme == "http" and not is_listed:
            raise ConfigError(
                f"{_VARIABLE}: the mirror {mirror.name} uses plain http, which is only for hosts "
                "in VSKILL_PRIVATE_HOSTS"
            )


def _read_mirror(name: str, table: Any) -> Mirror:
    if not _NAME.fullmatch(name) or not isinstance(table, dict):
        raise ConfigError(
            f"{_VARIABLE}: each mirror is a table such as [hub], with a name of up to 20 "
            f"lower-case letters, digits and single hyphens; {name!r} is not"
        )
    place = f"{_VARIABLE}: the mirror {name}"
    try:
        found = msgspec.convert(table, _Table)
        min_age = parse_duration(found.min_age)
    except (ValueError, msgspec.ValidationError) as error:
        raise ConfigError(f"{place}: {error}") from error
    _check_patterns(place, [*found.allow, *found.deny])
    if not found.allow:
        raise ConfigError(f'{place}: allow is empty; use ["*"] for all skills')
    if min_age > _MAX_AGE:
        raise ConfigError(f"{place}: min_age must be at most 365d")
    token = read_secret_file(f"{place}: token_file", found.token_file) if found.token_file else ""
    _check_url(place, found.url, has_token=bool(token))
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigError(f"{place}: the token contains a character that is not allowed")
    return Mirror(
        name=name,
        kind=found.kind,
        url=found.url.rstrip("/"),
        token=Secret(token),
        allow=tuple(found.allow),
        deny=tuple(found.deny),
        min_age=min_age,
        offline=found.offline,
    )


def _check_url(place: str, url: str, *, has_token: bool) -> None:
    if not is_plain_url(url):
        raise ConfigError(
            f"{place}: the url must be like https://skills.example, without a user, password, "
            "query or fragment; use token_file for a token"
        )
    parts = urlsplit(url)
    if has_token and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ConfigError(f"{place}: a token is only sent over https")


def _check_patterns(place: str, patterns: list[str]) -> None:
    if len(patterns) > _MAX_PATTERNS or any(not 0 < len(one) <= _MAX_PATTERN for one in patterns):
        raise ConfigError(
            f"{place}: allow and deny have at most {_MAX_PATTERNS} patterns of 1 to {_MAX_PATTERN} "
            "characters"
        )


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Compare without the @ of a namespace, which only some registries write."""
    plain = name.removeprefix("@")
    return any(fnmatchcase(plain, pattern.removeprefix("@")) for pattern in patterns)
