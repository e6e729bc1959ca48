"""Write a file under another name first, so that it appears only when it is complete."""

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vskill_platform.base.durable_files import sync, sync_names
from vskill_platform.errors import ConfigError, EngineError

#: Suffixes of a database's files: the database itself, and SQLite's files next to it.
DATABASE_ENDINGS = ("", "-wal", "-shm", "-journal")


def check_target(target: Path, *, replace: bool) -> None:
    if target.exists() and not target.is_file():
        raise ConfigError(f"{target}: this is not a regular file; name one")
    if target.exists() and not replace:
        raise ConfigError(f"{target}: this file exists; name another one, or use --force")


@contextmanager
def write_part(target: Path) -> Iterator[Path]:
    """Yield an empty file that only its owner can read; it is removed unless renamed."""
    _sweep(target)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    with os_errors_translated(target):
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            yield part
        finally:
            for ending in DATABASE_ENDINGS:
                Path(f"{part}{ending}").unlink(missing_ok=True)


def _sweep(target: Path) -> None:
    """Remove files that a killed process left behind."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part*"):
        pid = left.name.removeprefix(f".{target.name}.").partition(".")[0]
        if pid.isascii() and pid.isdigit() and not _is_alive(int(pid)):
            left.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    if pid == os.getpid():  # another process had this pid before us
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another process
        return True
    return True


def put_in_place(part: Path, target: Path, *, replace: bool) -> None:
    sync(part)
    if replace:
        part.replace(target)
    else:
        try:
            os.link(part, target)  # unlike a rename, this never replaces a file
        except FileExistsError:
            raise
        except OSError:  # this file system has no links
            part.replace(target)
    sync_names(target.parent)


@contextmanager
def os_errors_translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise ConfigError(f"{path}: this file exists; name another one, or use --force") from error
    except OSError as error:
        raise EngineError(f"{path}: {error.strerror}") from error
