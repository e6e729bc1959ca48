"""The digest at the end of a backup: it covers every byte before it.

SQLite reads the number of pages in the file's header and ignores everything after them. So every
program can still open the backup as a database. SQLite's own integrity check covers the structure
of the file, but not the bytes of values.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import BinaryIO

from vskill_platform.errors import EngineError

_SEAL = b"\nvskill-platform backup, sha256 of all bytes before this line: %s\n"
_HEX_DIGITS = 64
_SIZE = len(_SEAL % bytes(_HEX_DIGITS))
_PATTERN = re.compile(re.escape(_SEAL).replace(b"%s", rb"([0-9a-f]{64})"))
_DATABASE = b"SQLite format 3\0"
#: Where the header has the size of a page; 1 stands for 65,536.
_PAGE_SIZE = slice(16, 18)
_LARGEST_PAGE = 65_536
#: Where the header has the write and read version: 2 for a database with a write-ahead log.
_VERSIONS, _WITH_LOG = slice(18, 20), 2
_CHUNK = 1024 * 1024


def write_seal(path: Path) -> None:
    """Append the digest to a file that is not open anywhere."""
    with path.open("r+b") as file:
        digest = _digest_of(file, file.seek(0, os.SEEK_END))
        file.seek(0, os.SEEK_END)
        file.write(_SEAL % digest.encode())


def has_seal(path: Path) -> bool:
    with path.open("rb") as file:
        return _read_seal(file) is not None


def check_if_backup(path: Path) -> None:
    """Compare a file with its digest, unless it is a database that is or was in use."""
    with path.open("rb") as file:
        is_backup = _WITH_LOG not in file.read(_VERSIONS.stop)[_VERSIONS]
    if is_backup:
        check_seal(path)


def check_seal(path: Path) -> None:
    """Compare a backup with its digest; backups of older releases have none."""
    with path.open("rb") as file:
        digest = _read_seal(file)
        size = file.seek(0, os.SEEK_END)
        if digest is None:
            is_damaged = _ends_inside_a_page(file, size)
        else:
            is_damaged = digest != _digest_of(file, size - _SIZE)
    if is_damaged:
        raise EngineError(
            f"{path}: the backup was damaged or changed after it was made: its digest differs"
        )


def _ends_inside_a_page(file: BinaryIO, size: int) -> bool:
    """Return whether a database has no whole number of pages; SQLite would read zeros."""
    file.seek(0)
    header = file.read(_PAGE_SIZE.stop)
    page = int.from_bytes(header[_PAGE_SIZE], "big")
    page_size = _LARGEST_PAGE if page == 1 else page
    return header.startswith(_DATABASE) and (not page_size or size % page_size > 0)


def _read_seal(file: BinaryIO) -> str | None:
    file.seek(max(file.seek(0, os.SEEK_END) - _SIZE, 0))
    found = _PATTERN.fullmatch(file.read(_SIZE))
    return found[1].decode() if found else None


def _digest_of(file: BinaryIO, size: int) -> str:
    """Return the digest of the first bytes of a file."""
    sha256 = hashlib.sha256()
    file.seek(0)
    while size > 0 and (chunk := file.read(min(size, _CHUNK))):
        sha256.update(chunk)
        size -= len(chunk)
    return sha256.hexdigest()
