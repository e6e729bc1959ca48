"""Lock a folder against other commands, and exchange two folders in one step."""

import ctypes
import errno
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vskill_platform.errors import Busy

_MAX_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.05
_EXCHANGE = 2
_HERE = -100


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return False if the system cannot.

    Between two renames, the skill would be missing.
    """
    library = ctypes.CDLL(None, use_errno=True)
    sys.audit("vskill_platform.exchange", str(one), str(other))
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        failed = library.renamex_np(*names, _EXCHANGE)
    elif hasattr(library, "renameat2"):
        failed = library.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM}:
        return False
    raise OSError(number, os.strerror(number), str(other))


@contextmanager
def locked(folder: Path, on_wait: Callable[[], None] | None) -> Iterator[None]:
    """Lock a folder against other runs; the lock ends with the process."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + _MAX_WAIT_SECONDS
        while not _try_lock(number):
            if on_wait:
                on_wait()
                on_wait = None
            if time.monotonic() > until:
                raise Busy(
                    f"another vskill-platform has been changing the skills in {folder} for more "
                    f"than {_MAX_WAIT_SECONDS:.0f} seconds; try again when it has finished"
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(number)


def _try_lock(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
