"""Compare a skill's folder on disk with the lock file, for `verify`, `update` and `remove`."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from vskill_platform.errors import ConfigError
from vskill_platform.model.skill import SkillFile

#: Files that running scripts or opening a folder creates, which no one wants to keep.
_GENERATED = frozenset({"__pycache__", ".DS_Store", "Thumbs.db"})
_MAX_LISTED = 10_000


class FolderState(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between a folder and the installed files; paths are relative to it."""

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    #: Whether the folder does not exist.
    is_absent: bool = False

    @property
    def is_clean(self) -> bool:
        return not (self.changed or self.missing or self.extra or self.is_absent)

    @property
    def has_local_changes(self) -> bool:
        """Return whether replacing the folder would destroy local work."""
        kept = [path for path in self.extra if not _GENERATED & set(path.split("/"))]
        return not self.is_absent and bool(self.changed or self.missing or kept)

    def in_words(self) -> str:
        if self.is_absent:
            return "missing"
        parts = [
            f"{name}: {', '.join(paths[:5])}{' …' if len(paths) > 5 else ''}"  # noqa: PLR2004 - enough to recognise it
            for name, paths in (
                ("changed", self.changed), ("missing", self.missing), ("extra", self.extra),
            )
            if paths
        ]  # fmt: skip
        return "; ".join(parts)


def compare_folder(folder: Path, files: Iterable[SkillFile]) -> FolderState:
    """Compare the contents of *folder* with *files*: bytes, and whether a file is executable.

    Links are never followed; a link in place of a file or of the folder is a change.
    """
    wanted = {file.path: file for file in files}
    try:
        kind = folder.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return FolderState(is_absent=True)
    except OSError as error:  # a link above it that leads to itself, or a folder of another user
        raise ConfigError(f"{folder} cannot be read: {error.strerror}") from error
    if not stat.S_ISDIR(kind):
        return FolderState(changed=(".",))
    there = _list_entries(folder)
    changed = [path for path, file in wanted.items() if path in there and _differs(folder, file)]
    return FolderState(
        changed=tuple(sorted(changed)),
        missing=tuple(sorted(wanted.keys() - there)),
        extra=tuple(sorted(there - wanted.keys())),
    )


def _list_entries(folder: Path) -> set[str]:
    """Return the paths of all entries that are not folders."""
    found: set[str] = set()
    todo = [""]
    while todo and len(found) < _MAX_LISTED:
        inside = todo.pop()
        with _opened(folder / inside) as entries:
            for entry in entries:
                path = f"{inside}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{path}/")
                else:
                    found.add(path)
    return found


@contextmanager
def _opened(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as entries:
            yield entries
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}") from error


def _differs(folder: Path, file: SkillFile) -> bool:
    # O_NONBLOCK, so that opening a pipe does not wait for its other end.
    try:
        number = os.open(folder / file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return True
    with os.fdopen(number, "rb") as opened:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_size != file.size:
            return True
        if bool(found.st_mode & stat.S_IXUSR) != file.is_executable:
            return True
        return hashlib.file_digest(opened, "sha256").hexdigest() != file.sha256
