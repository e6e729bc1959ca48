"""The data that the scanner works with: rules, patterns, places and hosts."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

DATA_FILES = (
    "hosts.toml", "languages.toml", "packages.toml", "places.toml", "prose.toml", "registry.toml",
    "rules.toml", "secrets.toml",
)  # fmt: skip


_FOLDER = Path(__file__).parents[1] / "data"


@cache
def load_data(name: str) -> dict[str, Any]:
    """Return what is in a data file: the same for all, so nobody may change it."""
    return tomllib.loads(_read(name).decode())


@cache
def ruleset_version() -> str:
    """Name the rule set by its content: what finds differently is called differently."""
    digest = hashlib.sha256()
    for name in DATA_FILES:
        digest.update(_read(name))
    return digest.hexdigest()[:12]


def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()
