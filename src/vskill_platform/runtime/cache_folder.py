"""The cache folder of a node, for files that can be built again, such as its search index."""

import hashlib
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from vskill_platform.engines.open_engine import database_file
from vskill_platform.errors import EngineError
from vskill_platform.secret_settings import show_url
from vskill_platform.settings import Settings


def cache_path(settings: Settings, ending: str) -> Path | None:
    """Return the path for a cached file or folder of this database; None without a cache folder.

    The cache folder is VSKILL_CACHE_DIR if it is set, otherwise the folder of the database file. In
    VSKILL_CACHE_DIR the name contains a digest of the database's URL, because several databases may
    share it.
    """
    database = database_file(settings.database_url)
    if not settings.cache_dir:
        return database.with_name(f"{database.name}{ending}") if database else None
    folder = Path(settings.cache_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{folder}: {error.strerror}; check VSKILL_CACHE_DIR") from error
    return folder / f"{_name(settings.database_url, database)}{ending}"


def _name(url: str, database: Path | None) -> str:
    if database:
        return f"{database.stem}-{_digest(str(database))}"
    parts = urlsplit(url[:])
    schema = dict(parse_qsl(parts.query)).get("schema", "")
    return f"registry-{_digest(f'{show_url(url)} {schema}')}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
