"""The registries that a user has signed in to, and their tokens.

Names and URLs are in `registries.json` in the user's configuration folder. Tokens are in the
system's keyring, or without one in `tokens.json` in the same folder.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import msgspec

from vskill_platform.base.durable_files import sync_names
from vskill_platform.client.addresses import checked_url, is_address
from vskill_platform.client.registry import Registry
from vskill_platform.client.system_keyring import (
    delete_from_keyring,
    keep_in_keyring,
    read_from_keyring,
)
from vskill_platform.errors import ConfigError, InvalidInput, NotFound

REGISTRY_VARIABLE = "VSKILL_REGISTRY"
TOKEN_VARIABLE = "VSKILL_TOKEN"  # noqa: S105 - the name of a variable
FOLDER_VARIABLE = "VSKILL_CONFIG_HOME"
_FOLDER = "vskill-platform"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_REGISTRIES, _TOKENS, _LOCK = "registries.json", "tokens.json", "lock"
#: The permissions that the file with tokens must not have: any for others.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

TokenPlace = Literal["keyring", "file", "none"]
Kind = TypeVar("Kind")


class KnownRegistry(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    #: Where the token is stored.
    token: TokenPlace = "none"  # noqa: S105 - where it is


class Registries(msgspec.Struct, frozen=True, kw_only=True):
    #: The name of the registry that commands use by default; empty for none.
    default: str = ""
    registries: dict[str, KnownRegistry] = {}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The registry that a command goes to."""

    #: Its name if the user signed in to it, otherwise its URL.
    name: str
    url: str
    #: Empty for an anonymous visitor. Left out of the repr, so that no log shows it.
    token: str = ""
    #: The environment variable with the token; empty if it comes from `login`.
    token_source: str = ""

    def __repr__(self) -> str:
        return f"Target({self.name!r}, {self.url!r})"

    def open(self) -> Registry:
        return Registry(self.url, self.token, token_source=self.token_source)


def resolve_registry(
    option: str | None = None, environ: Mapping[str, str] | None = None
) -> Target | None:
    """Return the registry that *option* names, or else VSKILL_REGISTRY, or else the default one.

    VSKILL_TOKEN is for the registry in VSKILL_REGISTRY; without that, for any.
    """
    environ = os.environ if environ is None else environ
    known = read_registries(environ)
    variable = environ.get(REGISTRY_VARIABLE, "").strip()
    wanted = (option or "").strip() or variable or known.default
    if not wanted:
        return None
    name, url = _look_up(wanted, known)
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if token and not (variable and _look_up(variable, known)[1] != url):
        return Target(name=name, url=url, token=token, token_source=TOKEN_VARIABLE)
    return Target(name=name, url=url, token=read_token(name, known, environ))


def _look_up(wanted: str, known: Registries) -> tuple[str, str]:
    """Return name and URL of a registry that is given by either."""
    if found := known.registries.get(wanted):
        return wanted, found.url
    if not is_address(wanted):
        some = ", ".join(sorted(known.registries)) or "none yet"
        raise NotFound(
            f"there is no registry {wanted!r} (known: {some}); give its URL, or sign in with: "
            "vskill-platform login URL"
        )
    url = checked_url(wanted)
    names = _names_of(url, known)
    return (names[0] if names else url), url


def _names_of(url: str, known: Registries) -> list[str]:
    return [name for name, one in known.registries.items() if one.url == url]


def name_for(url: str, environ: Mapping[str, str] | None = None) -> str:
    """Return the name of a registry if the user gives none: the earlier one, or host and port."""
    if names := _names_of(url, read_registries(environ)):
        return names[0]
    return re.sub(r"[^a-z0-9._-]", "-", urlsplit(url).netloc.lower()).strip("-._")[:64]


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is not a name of a registry: use lower-case letters, digits, - _ and ."
        )
    return name


def read_registries(environ: Mapping[str, str] | None = None) -> Registries:
    path = config_folder(environ) / _REGISTRIES
    return _read(path, Registries) or Registries()


def read_token(
    name: str, known: Registries | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """Return the token of a registry; empty if there is none."""
    known = known or read_registries(environ)
    found = known.registries.get(name)
    if found is None or found.token == "none":  # noqa: S105 - no token
        return ""
    if found.token == "file":  # noqa: S105 - where it is
        return _read_tokens(config_folder(environ)).get(found.url, "")
    return read_from_keyring(found.url)


def remember_registry(
    name: str, url: str, token: str, environ: Mapping[str, str] | None = None
) -> TokenPlace:
    """Store a registry and its token, and make it the default; return where the token is.

    A registry has one token and therefore one name, so an earlier name is forgotten.
    """
    checked_name(name)
    url = checked_url(url)
    with _changing(environ) as folder:
        known = read_registries(environ)
        if (other := known.registries.get(name)) and other.url != url:
            raise InvalidInput(
                f"{name} is the registry {other.url}; choose another name with --name"
            )
        place = _keep_token(folder, url, token)
        registries = {key: one for key, one in known.registries.items() if one.url != url}
        registries[name] = KnownRegistry(url=url, token=place)
        _write(folder / _REGISTRIES, Registries(default=name, registries=registries))
    return place


def forget_token(name: str, environ: Mapping[str, str] | None = None) -> None:
    """Delete the token of a registry from this machine."""
    with _changing(environ) as folder:
        known = read_registries(environ)
        _, found = _known(known, name)
        _drop_token(folder, found)
        registries = {**known.registries, name: KnownRegistry(url=found.url)}
        _write(folder / _REGISTRIES, msgspec.structs.replace(known, registries=registries))


def forget_registry(wanted: str, environ: Mapping[str, str] | None = None) -> KnownRegistry:
    """Delete a registry, given by name or URL, and its token from this machine."""
    with _changing(environ) as folder:
        known = read_registries(environ)
        name, found = _known(known, wanted)
        _drop_token(folder, found)
        registries = {key: one for key, one in known.registries.items() if key != name}
        default = "" if known.default == name else known.default
        _write(folder / _REGISTRIES, Registries(default=default, registries=registries))
    return found


def use_registry(wanted: str, environ: Mapping[str, str] | None = None) -> KnownRegistry:
    """Make a registry, given by name or URL, the default."""
    with _changing(environ) as folder:
        known = read_registries(environ)
        name, found = _known(known, wanted)
        _write(folder / _REGISTRIES, msgspec.structs.replace(known, default=name))
    return found


def config_folder(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    if chosen := environ.get(FOLDER_VARIABLE, ""):
        return Path(chosen)
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / _FOLDER


def _known(known: Registries, wanted: str) -> tuple[str, KnownRegistry]:
    if found := known.registries.get(wanted):
        return wanted, found
    with suppress(InvalidInput):  # it is not a URL either
        for name in _names_of(checked_url(wanted), known):
            return name, known.registries[name]
    some = ", ".join(sorted(known.registries)) or "none yet"
    raise NotFound(f"there is no registry {wanted!r}; known: {some}")


@contextmanager
def _changing(environ: Mapping[str, str] | None) -> Iterator[Path]:
    """Keep other processes from changing the files at the same time."""
    folder = config_folder(environ)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    except OSError as error:
        raise ConfigError(
            f"{error.filename or folder} cannot be written: {error.strerror}"
        ) from error


def _keep_token(folder: Path, url: str, token: str) -> TokenPlace:
    if keep_in_keyring(url, token):
        _write_tokens(folder, url, None)
        return "keyring"
    _write_tokens(folder, url, token)
    return "file"


def _drop_token(folder: Path, found: KnownRegistry) -> None:
    if found.token == "keyring":  # noqa: S105 - where it is
        delete_from_keyring(found.url)
    _write_tokens(folder, found.url, None)


def _read_tokens(folder: Path) -> dict[str, str]:
    path = folder / _TOKENS
    with suppress(FileNotFoundError):
        if path.stat().st_mode & _OTHERS:
            raise ConfigError(
                f"others can read the tokens in {path}; run: chmod 600 {path}, and sign in again "
                "if someone else may have read them"
            )
    return _read(path, dict[str, str]) or {}


def _write_tokens(folder: Path, url: str, token: str | None) -> None:
    path = folder / _TOKENS
    if token is None and not path.exists():
        return
    tokens = _read_tokens(folder)
    tokens.pop(url, None)
    if token is not None:
        tokens[url] = token
    _write(path, tokens)


def _read(path: Path, kind: type[Kind]) -> Kind | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigError(f"{path} is damaged ({error}); correct it or delete it") from error


def _write(path: Path, value: object) -> None:
    """Replace a file in one step; only its owner can read it."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_names(path.parent)
    finally:
        new.unlink(missing_ok=True)
