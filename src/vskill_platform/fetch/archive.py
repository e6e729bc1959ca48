"""Unpack untrusted archives: only regular files and folders; anything else is refused."""

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from vskill_platform.base.bounded_tar import bounded_headers
from vskill_platform.base.resource_shortage import is_shortage
from vskill_platform.errors import SourceRefused
from vskill_platform.fetch.file_names import Names
from vskill_platform.fetch.snapshot import MAX_SOURCE_BYTES, MAX_SOURCE_FILES

#: Maximum compression ratio of an untrusted archive. Text rarely compresses better than 10:1.
MAX_RATIO = 100
#: Below this size any ratio is accepted: a small file of zeros is not a bomb.
_HARMLESS_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
#: Maximum size of a member's metadata, such as a long name.
_MAX_HEADER_BYTES = 64 * 1024
_SUFFIXES = (".zip", ".tar.gz", ".tgz")
#: Supported zip compression. Other methods are rare and need unbounded memory to unpack.
_ZIP_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
#: Raised by the archive readers for malformed input.
_UNREADABLE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, LookupError, OverflowError,
)  # fmt: skip


class _Member(msgspec.Struct, frozen=True):
    name: str
    #: None for a folder.
    content: IO[bytes] | None
    is_executable: bool = False


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES)


def stem_of(path: Path) -> str:
    """Return an archive's name without its extension."""
    ending = next((end for end in _SUFFIXES if path.name.lower().endswith(end)), "")
    return path.name[: len(path.name) - len(ending)]


_Header = bounded_headers(
    _MAX_HEADER_BYTES,
    lambda: SourceRefused("the archive has an oversized header, which could exhaust the reader"),
)


def unpack(archive: Path, folder: Path, *, max_ratio: int | None = None) -> None:
    """Unpack *archive* into the new *folder*; refuse links, path traversal, duplicates and bombs.

    *max_ratio* limits the compression ratio; archives that we packed ourselves need no limit.
    A hostile archive can use a lot of time and memory: call this in a process with limits.
    """
    folder.mkdir(mode=0o700)
    size = archive.stat().st_size
    if size > MAX_SOURCE_BYTES:
        raise SourceRefused(f"the archive is larger than {MAX_SOURCE_BYTES:,} bytes")
    read = _zip_members if archive.name.lower().endswith(".zip") else _tar_members
    room = MAX_SOURCE_BYTES
    if max_ratio is not None:
        room = min(room, max(size * max_ratio, _HARMLESS_BYTES))
    names = Names()
    try:
        for number, member in enumerate(read(archive)):
            if number >= MAX_SOURCE_FILES:
                raise SourceRefused(f"the archive contains more than {MAX_SOURCE_FILES:,} files")
            path = _checked(member.name, names)
            room -= _write(member, folder / path, room)
    except FileExistsError as error:
        raise SourceRefused("the archive contains two files with the same name") from error
    except NotADirectoryError as error:
        raise SourceRefused("the archive uses a file as a folder") from error
    except OSError as error:
        if is_shortage(error):
            raise
        raise SourceRefused(f"the archive cannot be unpacked: {error.strerror or error}") from error
    except _UNREADABLE as error:
        raise SourceRefused(f"the archive cannot be read: {error}") from error


def root_of(folder: Path) -> Path:
    """Return an archive's only top-level folder, or *folder* if there is more than that."""
    entries = list(folder.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 1:
                raise SourceRefused(f"{info.filename!r} is encrypted")
            if info.compress_type not in _ZIP_METHODS:
                raise SourceRefused(f"{info.filename!r} uses an unsupported compression method")
            if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise SourceRefused(f"{info.filename!r} is a link or a special file")
            if info.is_dir():
                yield _Member(info.orig_filename, None)
            else:
                with opened.open(info) as content:
                    mode = info.external_attr >> 16
                    yield _Member(info.orig_filename, content, bool(mode & stat.S_IXUSR))


def _tar_members(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r:gz", tarinfo=_Header) as opened:
        for info in opened:
            if info.isdir():
                yield _Member(info.name, None)
            elif info.isreg() and not info.issparse():
                is_executable = bool(info.mode & stat.S_IXUSR)
                yield _Member(info.name, opened.extractfile(info), is_executable)
            else:
                raise SourceRefused(f"{info.name!r} is a link or a special file")


def _checked(name: str, names: Names) -> PurePosixPath:
    """Return a member's path; refuse unsafe, non-portable or absolute names."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise SourceRefused(f"{name!r} points outside the archive")
    if path.parts:
        names.add(str(path))
    return path


def _write(member: _Member, target: Path, room: int) -> int:
    if member.content is None:
        target.mkdir(parents=True, exist_ok=True)
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with target.open("xb") as writer:
        while chunk := member.content.read(_CHUNK):
            size += len(chunk)
            if size > room:
                raise SourceRefused(
                    "the archive expands to far more than its size suggests, or to too much"
                )
            writer.write(chunk)
    if member.is_executable:
        target.chmod(0o755)
    return size
