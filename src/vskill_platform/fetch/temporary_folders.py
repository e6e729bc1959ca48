"""Create private folders for fetched sources, and remove those of killed processes.

Each process has one folder per temporary folder, which contains all of its workspaces, and holds a
lock on it until it exits. A folder that can be locked is abandoned. Unlike a timestamp this does
not depend on the clock, and unlike a process id it works across containers.
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
#: The in-memory file system, if there is one. On ext4, creating files is slow after many deletions:
#: creating and removing a small skill's files on disk takes longer than scanning them.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folders made in it are private
#: The default temporary folders. If TMPDIR selects another one, everything goes there.
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - only compared with
#: Larger contents go to disk. So does everything if less memory than this is free, because other
#: programs share the in-memory file system, and in a container it is small.
SMALL_BYTES = 1024 * 1024
ROOM_BYTES = 48 * 1024 * 1024

#: This process's folder in each temporary folder it uses, with the file descriptor of its lock.
_process_folders: dict[Path, tuple[Path, int]] = {}
_making = Lock()


def new_folder(*, in_memory: bool = False) -> Path:
    """Return the path for a new private folder."""
    parent = IN_MEMORY if in_memory else Path(tempfile.gettempdir())
    return _process_folder(parent) / secrets.token_hex(8)


def new_workspace() -> Path:
    """Create a folder that only this user can read; the caller removes it."""
    folder = new_folder()
    folder.mkdir(mode=0o700)
    return folder


def fits_into_memory(size: int) -> bool:
    """Return whether *size* bytes fit into the in-memory file system, if there is one."""
    return size <= SMALL_BYTES and tempfile.gettempdir() in _USUAL and _has_room(IN_MEMORY)


@contextmanager
def make_workspace() -> Iterator[Path]:
    """Create a folder that only this user can read, and remove it with its contents."""
    folder = new_workspace()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_workspaces() -> int:
    """Remove the folders of processes that no longer run; return how many."""
    abandoned = 0
    for parent in {Path(tempfile.gettempdir()), IN_MEMORY}:
        for folder in parent.glob(f"{PREFIX}*"):
            if _is_ours(folder):
                abandoned += _remove_if_abandoned(folder)
    return abandoned


def _remove_if_abandoned(folder: Path) -> bool:
    try:
        lock = _lock(folder)
    except OSError:  # without locks, it may have an owner
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
        if folder:  # something else removed it
            os.close(lock)
        folder, lock = _make_process_folder(parent)
        _process_folders[parent] = folder, lock
        return folder


def _make_process_folder(parent: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        try:
            lock = _lock(folder)
        except OSError:  # no locks on this file system: no sweep removes it either
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        if lock is not None:
            atexit.register(_remove, folder, os.getpid())
            return folder, lock
        # Another process saw it before it was locked, and removed it as abandoned.


def _lock(folder: Path) -> int | None:
    """Lock a folder while the descriptor is open; None if it has an owner or no longer exists."""
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
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)


def _has_room(folder: Path) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:  # the folder does not exist on this system
        return False
    is_roomy = found.f_bavail * found.f_frsize >= ROOM_BYTES
    return is_roomy and os.access(folder, os.W_OK | os.X_OK)


def _is_ours(folder: Path) -> bool:
    """Return whether this user owns a folder: in a shared folder anyone can use the prefix."""
    try:
        found = folder.lstat()
    except FileNotFoundError:  # removed by its owner or another sweep
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
