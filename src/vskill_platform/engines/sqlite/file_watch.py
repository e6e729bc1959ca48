"""Detect that the open database file or its write-ahead log was deleted or replaced.

A deleted or replaced file stays open: SQLite continues to write to it, and all of that is lost when
the process ends.
"""

import os
import struct
from pathlib import Path
from time import monotonic, sleep

import apsw

from vskill_platform.base.telemetry import get_logger
from vskill_platform.engines.sqlite.connection import DAMAGED, translate
from vskill_platform.errors import EngineError

log = get_logger(__name__)

#: How long a process that closes the database may take to remove both files.
_CLOSING_SECONDS = 1.0
#: Offsets in the shared memory file of the number of frames in the log, and of those copied to the
#: database (https://www.sqlite.org/walformat.html, "The WAL-Index File Format").
_FRAMES_AT, _COPIED_AT, _HEADER_BYTES = 16, 96, 136
#: `1: POSIX ADVISORY READ 4711 08:01:1234 1073741826 1073742335`, and where SQLite's locks begin.
_LOCKS, _FIELDS = Path("/proc/locks"), 8
_HOLDER, _FILE, _FIRST, _LOCKED_FROM = 4, 5, 6, 0x40000000


class FileWatch:
    """Created right after opening; compares the files at the path with those that were opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found = {file: _identity(file) for file in (path, log_of(path), _index_of(path))}
        # Some file systems do not support a log, or the index of a log.
        self._known = {file: known for file, known in found.items() if known}
        #: Why nothing may be read or written at the moment; empty if all is well.
        self.problem = ""
        #: SQLite's error about a damaged page; kept until the database is opened again.
        self.damage = ""

    def report(self, error: apsw.Error) -> EngineError:
        """Translate an error of SQLite, and remember if it means damage."""
        translated = translate(error, self._path)
        if isinstance(error, DAMAGED) and not self.damage:
            self.damage = str(translated)
            log.error("database is damaged", problem=self.damage)
        return translated

    def look(self) -> None:
        """Compare the files; *problem* contains the result."""
        replaced = [file.name for file, known in self._known.items() if not _is_same(file, known)]
        problem = _say_replaced(self._path, replaced) if replaced else ""
        if problem != self.problem:
            self.problem = problem
            if problem:
                log.error("database deleted or replaced while in use", problem=problem)
            else:
                log.warning("database is back", path=str(self._path))

    def check(self) -> None:
        """Raise an error if the files are not those that are open."""
        self.look()
        self.raise_problem()

    def raise_problem(self) -> None:
        """Raise the problem that the last check found."""
        if self.problem:
            raise EngineError(self.problem)

    def leave_files_alone(self, connection: apsw.Connection) -> None:
        """Keep a connection that is about to close from deleting the log of another database."""
        self.look()
        if self.problem:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def log_of(path: Path) -> Path:
    """Return the path of the write-ahead log: next to the real file, if the path is a link."""
    return Path(f"{path.resolve()}-wal")


def _index_of(path: Path) -> Path:
    """Return the path of the log's shared index, without which processes don't see each other."""
    return Path(f"{path.resolve()}-shm")


def check_log(path: Path) -> None:
    """Refuse a database whose write-ahead log, or the index of the log, was deleted.

    The file does not contain the last commits, and SQLite would silently continue without them.
    Without the index, two processes would overwrite each other's commits.
    """
    shared = _index_of(path)
    give_up_at = monotonic() + _CLOSING_SECONDS
    while not log_of(path).exists():
        is_in_use = _is_open_elsewhere(path)
        if not is_in_use and not shared.exists():
            return
        if monotonic() < give_up_at:  # it may be opened or closed right now
            sleep(0.01)
            continue
        frames, copied = _count_frames(shared)
        if is_in_use or frames > copied:
            raise EngineError(
                f"{path}: its write-ahead log {log_of(path).name} was deleted, and with it the "
                "latest commits. Stop everything that runs on this database and restore a backup. "
                f"To continue with what is left instead, stop it and delete {shared.name}."
            )
        return
    while not shared.exists() and _is_open_elsewhere(path):
        if monotonic() > give_up_at:  # it is not being opened or closed right now
            raise EngineError(
                f"{path}: {shared.name} was deleted while the database was in use. Stop everything "
                "that runs on this database, then start it again. Nothing is lost."
            )
        sleep(0.01)


def _is_open_elsewhere(path: Path) -> bool:
    """Return whether another process holds one of SQLite's locks on the file.

    It asks the kernel, because a descriptor of the file would drop our own locks.
    """
    try:
        found = path.stat()
        lines = [line.split() for line in _LOCKS.read_text(encoding="utf-8").splitlines()]
    except OSError:  # no such file yet, or not on Linux
        return False
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return any(
        line[_FILE] == file and line[_FIRST].isdigit() and int(line[_FIRST]) >= _LOCKED_FROM
        and line[_HOLDER] != str(os.getpid())
        for line in lines
        if len(line) == _FIELDS
    )  # fmt: skip


def _count_frames(shared: Path) -> tuple[int, int]:
    # Opened although SQLite may also have it open: without the log, its locks are useless.
    try:
        with shared.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:  # it was being closed
        return 0, 0
    if len(header) < _HEADER_BYTES:
        return 0, 0
    (frames,) = struct.unpack_from("=I", header, _FRAMES_AT)
    (copied,) = struct.unpack_from("=I", header, _COPIED_AT)
    return frames, copied


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - called twice for each commit
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_same(file: Path, known: tuple[int, int]) -> bool:
    try:
        return _identity(file) == known
    except OSError:  # it cannot be checked, but may exist
        return True


def _say_replaced(path: Path, replaced: list[str]) -> str:
    what_to_do = "stop every process on it and restore a backup"
    if replaced == [_index_of(path).name]:  # SQLite creates it again from the log
        what_to_do = "stop every process on it and start again; nothing is lost"
    return (
        f"{path}: {' and '.join(replaced)} was deleted or replaced while the database was in use. "
        f"Nothing is read or written. Put the file back, or {what_to_do}."
    )
