"""Private folders for fetched sources, and removing those of processes that were killed.

Each process has one folder in a temporary folder, with all of its workspaces in it, and holds a
lock on it as long as it lives. A folder that can be locked has no owner any more: this needs no
clock, which may jump, and no process ids, which differ between containers.
"""

import atexit
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

PREFIX = "vskill-work-"
#: Where files lie in memory, on systems that have such a place. A disk's file system may take long
#: to make a new file when many were deleted just before (ext4 looks at each of them): there, making
#: and removing a small skill's files costs more than checking them.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made in it are private
#: Where temporary files go as long as nobody has said anything else. Who has, with TMPDIR, decides
#: about these files too.
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - only compared with
#: More than this goes to the disk, and so does everything when memory is short of this room: the
#: place belongs to others too, and a container's is small.
SMALL_BYTES = 1024 * 1024
ROOM_BYTES = 48 * 1024 * 1024

#: This process's folder in each temporary folder, with the descriptor of its lock.
_process_folders: dict[Path, tuple[Path, int]] = {}
_making = Lock()


def new_place(*, in_memory: bool = False) -> Path:
    """Return the path of a private folder to be created."""
    parent = IN_MEMORY if in_memory else Path(tempfile.gettempdir())
    return _process_folder(parent) / secrets.token_hex(8)


def new_workspace() -> Path:
    """Create a folder that only we can read; the caller removes it."""
    folder = new_place()
    folder.mkdir(mode=0o700)
    return folder


def fits_into_memory(size: int) -> bool:
    """Tell whether this system has a memory file system with enough space."""
    return size <= SMALL_BYTES and tempfile.gettempdir() in _USUAL and _has_room(IN_MEMORY)


@contextmanager
def make_workspace() -> Iterator[Path]:
    """Create a folder that only we can read, and remove it with its content afterwards."""
    folder = new_workspace()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_workspaces() -> int:
    """Remove the folders of dead processes; return how many."""
    abandoned = 0
    for parent in {Path(tempfile.gettempdir()), IN_MEMORY}:
        for folder in parent.glob(f"{PREFIX}*"):
            if _is_ours(folder):
                abandoned += _remove_if_abandoned(folder)
    return abandoned


def _remove_if_abandoned(folder: Path) -> bool:
    try:
        lock = _lock(folder)
    except OSError:  # without locks the owner is unknown
        return False
    if lock is None:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)
    return True


def _process_folder(parent: Path) -> Path:
    with _making:
        folder, lock = _process_folders.get(parent, (None, -1))
        if folder and folder.is_dir():
            return folder
        if folder:  # somebody removed it
            os.close(lock)
        folder, lock = _make_process_folder(parent)
        _process_folders[parent] = folder, lock
        return folder


def _make_process_folder(parent: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            lock = _lock(folder)
        except OSError:  # a file system without locks: nobody can consider it abandoned either
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        if lock is not None:
            atexit.register(_remove, folder, os.getpid())
            return folder, lock
        # Another process found it before it was locked, and considered it abandoned.


def _lock(folder: Path) -> int | None:
    """Lock a folder while the descriptor is open; None if it has an owner, or is gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), folder.lstat()):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


def _has_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:  # this system has none
        return False
    is_roomy = found.f_bavail * found.f_frsize >= ROOM_BYTES
    return is_roomy and os.access(folder, os.W_OK | os.X_OK)


def _is_ours(folder: Path) -> bool:
    """Tell whether we created it: in a shared temporary folder anybody can use the prefix."""
    try:
        found = folder.lstat()
    except FileNotFoundError:  # its owner, or another sweep, was faster
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
