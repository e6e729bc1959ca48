"""A disk that a test can fill up or break, below a real SQLite."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_REAL = "unix"


class FaultyDisk(apsw.VFS):
    def __init__(self) -> None:
        self.is_full = False
        self.fails_to_read = False
        self.fails_to_sync = False
        super().__init__("faulty", _REAL)

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return _FaultyFile(self, name, flags)


class _FaultyFile(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(_REAL, name, flags)
        self._disk = disk

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's name
        if self._disk.fails_to_read:
            raise apsw.IOError("the disk is gone")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._disk.is_full:
            raise apsw.FullError("no space left on device")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._disk.fails_to_sync:
            raise apsw.IOError("the disk is gone")
        super().xSync(flags)


@contextmanager
def faulty_disk() -> Iterator[FaultyDisk]:
    """Put every database that is opened inside on a disk that can fail."""
    disk = FaultyDisk()
    apsw.set_default_vfs("faulty")
    try:
        yield disk
    finally:
        apsw.set_default_vfs(_REAL)
        disk.unregister()
