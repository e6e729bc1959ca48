"""Settings that are never shown: secrets, and database URLs with a password."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from vskill_platform.errors import ConfigError

#: A URL of a database server; special characters in user and password are percent-encoded.
_SERVER_URL = re.compile(r"([a-z0-9+]+)://(?:[^/?#@]*@)?([^/?#@]*)(/[^?#@]*)?(?:\?[^#]*)?")
#: A secret may also be in a file, named by the variable with this suffix.
FILE_SUFFIX = "_FILE"
#: What is confidential in a setting: users and passwords in URLs, and parameters and fields with
#: secrets, because some servers want them.
_CONFIDENTIAL = r"[\w.-]{0,99}(?:key|token|secret|passw|pwd|signature|auth)[\w.-]{0,99}"
_IN_SETTING = re.compile(
    r"(?<=://)(?P<login>[^\s\"',/?#]*)@"
    r"|(?<![^\s\"',=])(?P<bare_login>[^\s\"',/?#:@=]+:[^\s\"',/?#@]+)@"
    rf"|(?i:(?<=[?&]){_CONFIDENTIAL}=(?P<parameter>[^&#\s\"',]+))"
    rf"|(?i:\"{_CONFIDENTIAL}\"\s*:\s*\"(?P<field>(?:[^\"\\]|\\.)*)\")"
)
_HIDDEN = "(hidden)"


class Secret:
    """A text that no log, report or error shows, unless its value is explicitly requested."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __str__(self) -> str:
        return "(hidden)" if self._text else ""

    __repr__ = __str__


def hide_secrets(text: str, *, of: str | None = None) -> str:
    """Return a setting without the secrets in it, or a message without the secrets of a setting.

    A message may quote a part of the setting, so each secret is replaced wherever it occurs.
    """
    if of is None:
        return _IN_SETTING.sub(_hide, text)
    for found in _IN_SETTING.finditer(of):
        secret = found[found.lastgroup or 0]
        for quoted in filter(None, (secret, repr(secret)[1:-1])):
            text = text.replace(quoted, _HIDDEN)
    return text


def _hide(found: re.Match[str]) -> str:
    start, end = (at - found.start() for at in found.span(found.lastgroup or 0))
    return found[0][:start] + _HIDDEN + found[0][end:]


class DatabaseUrl(str):
    """A database URL that shows neither user nor password, wherever it is printed."""

    __slots__ = ()

    def __str__(self) -> str:
        return show_url(self)

    def __repr__(self) -> str:
        return repr(show_url(self))

    def __format__(self, spec: str) -> str:
        return format(show_url(self), spec)


def show_url(url: str) -> str:
    """Return a database URL for messages: with the host and the database only."""
    raw = url[:]  # a plain string, even of a DatabaseUrl
    if raw.startswith(("sqlite:", "file:")):
        return raw
    found = _SERVER_URL.fullmatch(raw)
    if not found:
        return f"{raw.partition(':')[0]}://(hidden)"
    scheme, host, path = found.groups()
    return f"{scheme}://{host}{path or ''}"


def check_server_url(url: str, *, name: str = "the database URL") -> None:
    """Refuse an invalid URL, without quoting it."""
    if not url.startswith(("postgresql:", "postgres:")):
        return
    try:
        is_readable = bool(_SERVER_URL.fullmatch(url[:])) and urlsplit(url[:]).port != 0
    except ValueError:  # an invalid port, which may be a part of the password
        is_readable = False
    if not is_readable:
        raise ConfigError(
            f"{name} must be like postgresql://user:password@host:5432/database. In user and "
            "password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23 and % as %25."
        )


def read_url(name: str, environ: Mapping[str, str]) -> DatabaseUrl:
    """Read a database URL, which may contain a password, from its variable or from its file."""
    name, text = _read_hidden(name, environ)
    check_server_url(text, name=name)
    return DatabaseUrl(text)


def _read_hidden(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the content of a variable or its file, and the name of the source."""
    if name + FILE_SUFFIX not in environ:
        return name, environ.get(name, "")
    if environ.get(name):  # an empty variable removes an image's default
        raise ConfigError(f"{name} and {name}{FILE_SUFFIX} are both set; choose one")
    name += FILE_SUFFIX
    return name, read_secret_file(name, environ[name])


def read_secret(name: str, environ: Mapping[str, str]) -> Secret:
    """Read a secret from its variable or from its file; never show it."""
    name, text = _read_hidden(name, environ)
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ConfigError(f"{name} contains a character that is not allowed in a key")
    return Secret(text)


def read_secret_file(name: str, path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise ConfigError(f"{name}={path}: the file cannot be read: {reason}") from error
    if not text:
        raise ConfigError(f"{name}={path}: the file is empty")
    return text
