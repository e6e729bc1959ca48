"""Errors of a command in one sentence."""

import errno
from pathlib import Path

from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.errors import VskillError

#: The maximum length of a file name in an error.
_MAX_NAME = 500


def describe_error(error: BaseException) -> str | None:
    """Return the error in one sentence; None if only a traceback would explain it."""
    if isinstance(error, VskillError):
        return str(error)
    if isinstance(error, OSError):
        return _describe_os_error(error)
    # Python represents bytes of the system that are not UTF-8 by these surrogates.
    if isinstance(error, UnicodeEncodeError) and "\udc80" <= error.object[error.start] <= "\udcff":
        return "an argument, a file name or an environment variable is not valid UTF-8"
    return None


def _describe_os_error(error: OSError) -> str | None:
    if error.filename is not None:
        return f"{str(error.filename)[:_MAX_NAME]}: {error.strerror}"
    # An error of a write does not name the file.
    if is_shortage(error) or error.errno == errno.EFBIG:
        return (
            f"a file or the output could not be written: {error.strerror}; check the disk and the "
            "folder for temporary files (TMPDIR)"
        )
    if not _has_current_folder():
        return "the current folder no longer exists; change to another one"
    # Of the module tempfile, which has tried all folders.
    return error.strerror if "temporary directory" in str(error.strerror) else None


def _has_current_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True
