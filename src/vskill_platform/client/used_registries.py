"""The registries that a user has chosen for an earlier install.

A lock file may name only these, and those that the user signed in to.
"""

import os
from collections.abc import Mapping
from contextlib import suppress

from vskill_platform.client.credentials import config_folder, read_registries

_FILE = "used-registries"
_MAX_BYTES = 64 * 1024


def list_used_registries(environ: Mapping[str, str]) -> set[str]:
    """Return the URLs of all registries that the user has chosen or signed in to."""
    return _read(environ) | {one.url for one in read_registries(environ).registries.values()}


def remember_used_registry(url: str, environ: Mapping[str, str]) -> None:
    """Remember a registry; a failure is ignored, because the user can name it again."""
    if url in list_used_registries(environ):
        return
    folder = config_folder(environ)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # No one else may add to it, whatever the user's umask is.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with os.fdopen(os.open(folder / _FILE, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{url}\n")


def _read(environ: Mapping[str, str]) -> set[str]:
    try:
        with (config_folder(environ) / _FILE).open(encoding="utf-8") as file:
            return set(file.read(_MAX_BYTES).splitlines())
    except (OSError, UnicodeDecodeError):
        return set()
