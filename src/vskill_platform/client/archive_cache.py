"""Downloaded archives by digest, so that an installed version can be installed again offline."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

_SUFFIX = ".tar.gz"
#: When the cache grows beyond this, the least recently used archives are deleted.
_MAX_BYTES = 512 * 1024 * 1024


class ArchiveCache:
    def __init__(self, folder: Path, *, max_bytes: int = _MAX_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def find(self, sha256: str) -> Path | None:
        """Return the archive with this digest; a damaged one is deleted."""
        path = self._path(sha256)
        try:
            with path.open("rb") as file:
                is_whole = hashlib.file_digest(file, "sha256").hexdigest() == sha256
        except OSError:
            return None
        with suppress(OSError):
            if not is_whole:
                path.unlink()
            else:
                os.utime(path)
        return path if is_whole else None

    @contextmanager
    def opened(self, sha256: str, load: Callable[[], bytes]) -> Iterator[Path]:
        """Yield the archive with this digest; call *load* if it is not in the cache.

        A cache that cannot be written is not an error.
        """
        path = self.find(sha256)
        if path is None:
            content = load()
            path = self._keep(sha256, content)
            if path is None:
                with TemporaryDirectory(prefix="vskill-") as folder:
                    path = Path(folder) / f"{sha256}{_SUFFIX}"
                    path.write_bytes(content)
                    yield path
                return
        yield path

    def _keep(self, sha256: str, content: bytes) -> Path | None:
        path = self._path(sha256)
        new = path.with_name(f".{secrets.token_hex(8)}.new")
        try:
            # Private skills are also kept here.
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(content)
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            return None
        self._prune(path)
        return path

    def _prune(self, kept: Path) -> None:
        with suppress(OSError):
            entries = [(entry.stat(), Path(entry.path)) for entry in os.scandir(self._folder)]
            size = sum(found.st_size for found, _ in entries)
            for found, path in sorted(entries, key=lambda entry: entry[0].st_mtime_ns):
                if size <= self._max_bytes:
                    break
                if path != kept:
                    path.unlink(missing_ok=True)
                    size -= found.st_size

    def _path(self, sha256: str) -> Path:
        return self._folder / f"{sha256}{_SUFFIX}"


def user_cache(environ: Mapping[str, str]) -> ArchiveCache:
    """Return the cache of this user."""
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    folder = base if base.is_absolute() else Path.home() / ".cache"
    return ArchiveCache(folder / "vskill-platform" / "archives")
