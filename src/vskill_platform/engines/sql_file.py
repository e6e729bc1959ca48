"""Load SQL from .sql files: each query follows a line `-- name: …`."""

import re
from importlib.resources import files

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def load_queries(package: str, file: str) -> dict[str, str]:
    """Return the named queries of *file*."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {name: query.strip() for name, query in zip(parts[::2], parts[1::2], strict=True)}


def load_migrations(package: str, folder: str) -> list[str]:
    """Return the migration scripts of *folder* in order; the n-th leads to schema version n."""
    scripts = sorted(
        (
            entry
            for entry in files(package).joinpath(folder).iterdir()
            if entry.name.endswith(".sql")
        ),
        key=lambda entry: entry.name,
    )
    return [script.read_text(encoding="utf-8") for script in scripts]
