"""Load the scanner's data files: rules, patterns, sensitive paths and hosts."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

DATA_FILES = (
    "concepts.toml", "directed.toml", "frames.toml", "frames_machine.toml", "frames_other.toml",
    "hosts.toml", "languages.toml", "packages.toml", "places.toml", "prose.toml", "registry.toml",
    "rules.toml", "secrets.toml", "sentences.toml",
)  # fmt: skip


DATA_FOLDER = Path(__file__).parents[1] / "data"


@cache
def load_data(name: str) -> dict[str, Any]:
    """Return the content of a data file, which is shared, so callers must not change it."""
    return tomllib.loads(_read(name).decode())


@cache
def ruleset_version() -> str:
    """Return a digest of the rule set as its version, so that any change gets a new version."""
    digest = hashlib.sha256()
    for name in DATA_FILES:
        digest.update(_read(name))
    return digest.hexdigest()[:12]


def _read(name: str) -> bytes:
    return (DATA_FOLDER / name).read_bytes()
