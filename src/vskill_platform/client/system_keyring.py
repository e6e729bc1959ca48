"""Tokens in the system's keyring, whose backends may fail in many ways."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from vskill_platform.errors import ConfigError

_SERVICE = "vskill-platform"

Result = TypeVar("Result")

#: Errors of a backend that is misconfigured, or whose own libraries are missing or too new.
_BACKEND_ERRORS = (
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


class _KeyringFailed(Exception):
    pass


def _use_keyring(work: Callable[[Any], Result]) -> Result:
    """Call *work* with the keyring; raise `_KeyringFailed` if it cannot be used."""
    import keyring  # noqa: PLC0415 - it searches for its backends, which takes a while
    from keyring.errors import KeyringError  # noqa: PLC0415 - as above

    try:
        return work(keyring)
    except (KeyringError, *_BACKEND_ERRORS) as error:
        raise _KeyringFailed(str(error).rstrip(".") or type(error).__name__) from error


def keep_in_keyring(url: str, token: str) -> bool:
    """Store a token in the system's keyring; return whether it is there."""

    def store(keyring: Any) -> bool:
        keyring.set_password(_SERVICE, url, token)
        # Some backends accept everything and store nothing.
        return bool(keyring.get_password(_SERVICE, url) == token)

    try:
        return _use_keyring(store)
    except _KeyringFailed:
        return False


def read_from_keyring(url: str) -> str:
    try:
        return _use_keyring(lambda keyring: keyring.get_password(_SERVICE, url)) or ""
    except _KeyringFailed as error:
        raise ConfigError(
            f"the keyring with the token for {url} cannot be read: {error}. Unlock it, sign in "
            "again, or set VSKILL_TOKEN"
        ) from error


def delete_from_keyring(url: str) -> None:
    def delete(keyring: Any) -> None:
        with suppress(keyring.errors.PasswordDeleteError):  # it is not in the keyring
            keyring.delete_password(_SERVICE, url)

    try:
        _use_keyring(delete)
    except _KeyringFailed as error:
        raise ConfigError(
            f"the token for {url} cannot be deleted from the keyring: {error}. Unlock it, or sign "
            "in again first"
        ) from error
