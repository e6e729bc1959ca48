"""Detect errors of the machine: no disk space, descriptors or memory, or a disk that fails."""

import errno
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
_NO_MEMORY = frozenset({errno.ENOMEM})
#: A disk that fails, that the system has made read-only because of that, or that is on a server
#: which has lost it. No file of a skill can cause these.
_DISK_FAILURES = frozenset({errno.EIO, errno.EROFS, errno.ESTALE})
_SHORTAGES = _NO_SPACE | _NO_DESCRIPTORS | _NO_MEMORY | _DISK_FAILURES
#: The message of other programs for a full disk.
_NO_SPACE_IN_WORDS = tuple(os.strerror(number) for number in _NO_SPACE)
#: No skill needs more, including its archive: if this much is free, the skill is at fault.
ROOM_BYTES = 96 * 1024 * 1024
#: With less free space a disk counts as full: the archive of a small skill still fits.
_FULL_BYTES = 1024 * 1024
#: How much of the disk of a database is reserved for submissions in progress: these bytes, but at
#: most this fraction (1/20) of a small disk.
_RESERVE_BYTES = 64 * 1024 * 1024
_RESERVE_FRACTION = 20


def is_shortage(error: BaseException) -> bool:
    """Return whether the system is out of disk space, descriptors or memory, or its disk fails."""
    return isinstance(error, OSError) and error.errno in _SHORTAGES


def means_disk_full(complaint: str) -> bool:
    """Return whether a program reports a full disk, and the disk really is full.

    The message can contain text of a remote host, so it alone proves nothing.
    """
    return any(words in complaint for words in _NO_SPACE_IN_WORDS) and not has_room()


def is_machine_short(error: BaseException) -> bool:
    """Return whether the machine is at fault, so that only a later retry can help.

    A skill that fills a disk which otherwise has room is not the machine's fault. Call this after
    the files of the failed work were removed.
    """
    is_space = isinstance(error, OSError) and error.errno in _NO_SPACE
    return is_shortage(error) and not (is_space and has_room())


def has_room() -> bool:
    """Return whether the folder for temporary files has room for a skill."""
    try:
        found = os.statvfs(tempfile.gettempdir())
    except OSError:
        return False
    # Some file systems have no fixed number of files.
    has_files = found.f_files == 0 or found.f_favail > 0
    return has_files and found.f_bavail * found.f_frsize >= ROOM_BYTES


class Space(NamedTuple):
    """The space on the disk of a database."""

    free: int
    #: How much must stay free, so that submissions in progress can be finished.
    reserve: int

    @property
    def is_full(self) -> bool:
        """Return whether the next larger write fails.

        A file that cannot grow may still have space inside, such as a write-ahead log that is
        written from its beginning again. So a small write that succeeds proves nothing.
        """
        return self.free < _FULL_BYTES


def measure_space(folder: Path) -> Space:
    """Return the space on the disk of *folder*."""
    found = os.statvfs(folder)
    total, free = (blocks * found.f_frsize for blocks in (found.f_blocks, found.f_bavail))
    return Space(free, min(_RESERVE_BYTES, total // _RESERVE_FRACTION))
