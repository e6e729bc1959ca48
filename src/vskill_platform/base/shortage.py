"""Errors of a machine that has run out of something: no fault of a request or of a skill."""

import errno
import os
import tempfile

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
_NO_MEMORY = frozenset({errno.ENOMEM})
_SHORTAGES = _NO_SPACE | _NO_DESCRIPTORS | _NO_MEMORY
#: How other programs say the same.
_NO_SPACE_IN_WORDS = tuple(os.strerror(number) for number in _NO_SPACE)
#: One skill with its archive takes no more: who fails with so much room has itself to blame.
ROOM_BYTES = 96 * 1024 * 1024


def is_shortage(error: BaseException) -> bool:
    """Tell whether the system refused something for want of space, descriptors or memory."""
    return isinstance(error, OSError) and error.errno in _SHORTAGES


def says_no_space(complaint: str) -> bool:
    """Tell whether a program complains about a full disk, and that may be true.

    A complaint can hold the words of a stranger's host, so that the disk is asked too.
    """
    return any(words in complaint for words in _NO_SPACE_IN_WORDS) and not has_room()


def is_machine_short(error: BaseException) -> bool:
    """Tell whether trying the same again, later, is the only remedy.

    A skill that fills a disk which has room without it is not the machine's fault. Ask once the
    files of the failed work are gone.
    """
    is_space = isinstance(error, OSError) and error.errno in _NO_SPACE
    return is_shortage(error) and not (is_space and has_room())


def has_room() -> bool:
    """Tell whether the folder for temporary files has room for a skill."""
    try:
        found = os.statvfs(tempfile.gettempdir())
    except OSError:
        return False
    # Some file systems have no fixed number of files.
    has_files = found.f_files == 0 or found.f_favail > 0
    return has_files and found.f_bavail * found.f_frsize >= ROOM_BYTES
