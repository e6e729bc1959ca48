"""Which files and folders were made durable."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Synced:
    """The files and folders that were written to the disk, whatever their names are now."""

    def __init__(self) -> None:
        self._found: set[tuple[int, int]] = set()

    def add(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        self._found.add((found.st_dev, found.st_ino))

    def missing_in(self, root: Path) -> list[str]:
        """Return the files and folders in *root* that a power cut could empty, itself included."""
        paths = [root, *sorted(root.rglob("*"))]
        return [
            str(path.relative_to(root))
            for path in paths
            if (path.stat().st_dev, path.stat().st_ino) not in self._found
        ]


@contextmanager
def watching_sync() -> Iterator[Synced]:
    synced, fsync = Synced(), os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        synced.add(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", watched)
        yield synced
