"""Open archives in memory, within limits, and report why one cannot be read."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import IO, cast

import msgspec

from vskill_platform.base.bounded_tar import bounded_headers
from vskill_platform.scan.read.magic import FileType, file_type

MAX_MEMBERS = 2_000
#: The limit for the unpacked bytes of all containers of a skill together.
MAX_UNPACKED_BYTES = 20 * 1024 * 1024
#: The largest compression ratio; below the second number of bytes, any ratio is accepted.
MAX_RATIO = 100
HARMLESS_BYTES = 1024 * 1024
#: The maximum depth of archives inside archives.
MAX_DEPTH = 3
#: The memory limit for unpacking; only a crafted stream needs more.
_MAX_WINDOW_BYTES = 64 * 1024 * 1024

#: The limit for long names and other metadata of a member; legitimate archives need less.
_MAX_HEADER_BYTES = 8 * 1024
#: Errors of the readers for a malformed container, including hostile nested headers.
_UNREADABLE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError,
    NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError, MemoryError,
)  # fmt: skip
#: Suffixes of compressed files, and the suffix without the compression.
_SUFFIXES = {
    ".gz": "", ".tgz": ".tar", ".bz2": "", ".tbz2": ".tar", ".xz": "", ".txz": ".tar",
}  # fmt: skip


class UnreadableArchive(Exception):
    """A container that cannot be read to its end; rules match *detail*."""

    def __init__(self, text: str, detail: str) -> None:
        super().__init__(text)
        self.detail = detail


class ArchiveMember(msgspec.Struct, frozen=True):
    name: str
    raw: bytes = b""
    #: Why it is suspicious or unreadable, and the word for rules; empty if there is no problem.
    flaw: str = ""
    detail: str = ""


class UnpackBudget:
    """How much may still be unpacked from the containers of one skill."""

    def __init__(self) -> None:
        self._members = MAX_MEMBERS
        self._bytes = MAX_UNPACKED_BYTES

    def take(self, content: IO[bytes], packed_bytes: int) -> bytes:
        """Read one member completely; everything that was unpacked before also counts."""
        most = min(self._bytes, max(packed_bytes * MAX_RATIO, HARMLESS_BYTES))
        raw = content.read(most + 1)
        self._members -= 1
        if len(raw) > most or self._members < 0:
            raise UnreadableArchive("an archive that unpacks to more than can be read", "cut")
        self._bytes -= len(raw)
        return raw


def open_container(
    path: str, kind: FileType, raw: bytes, budget: UnpackBudget
) -> Iterator[ArchiveMember]:
    """Yield the members of a container; raise UnreadableArchive if it ends too early."""
    try:
        if kind is FileType.ZIP:
            yield from _zip_members(raw, budget)
        elif kind is FileType.TAR:
            yield from _tar_members(raw, budget)
        else:
            yield from _unpacked(path, _STREAMS[kind], raw, budget)
    except _UNREADABLE as error:
        raise UnreadableArchive("an archive that cannot be read", "broken") from error


def _zip_members(raw: bytes, budget: UnpackBudget) -> Iterator[ArchiveMember]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        infos = archive.infolist()
        if min((info.header_offset for info in infos), default=0):
            yield ArchiveMember("", flaw="an archive appended to another archive", detail="broken")
        for info in infos:
            if info.flag_bits & 1:
                yield ArchiveMember(info.filename, flaw="an encrypted archive", detail="encrypted")
            elif not info.is_dir():
                with archive.open(info) as content:
                    yield _member(info.orig_filename, budget.take(content, len(raw)))


def _tar_members(raw: bytes, budget: UnpackBudget) -> Iterator[ArchiveMember]:
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:", tarinfo=_Header) as archive:
        for number, info in enumerate(archive):
            if number >= MAX_MEMBERS:
                raise UnreadableArchive("an archive that unpacks to more than can be read", "cut")
            if info.issym() or info.islnk():
                yield _member(info.name, b"", target=info.linkname)
            elif info.isreg() and not info.issparse() and (content := archive.extractfile(info)):
                yield _member(info.name, budget.take(content, len(raw)))
            elif not info.isdir():
                yield ArchiveMember(
                    info.name, flaw="an archive with a special file in it", detail="broken"
                )
        if raw[archive.offset :].strip(b"\0"):  # some readers continue after a broken header
            raise UnreadableArchive("an archive with data after its end", "broken")


_Header = bounded_headers(
    _MAX_HEADER_BYTES,
    lambda: UnreadableArchive("an archive with a header crafted to exhaust its reader", "broken"),
)


def _unpacked(
    path: str, stream: Callable[[bytes], IO[bytes]], raw: bytes, budget: UnpackBudget
) -> Iterator[ArchiveMember]:
    """Undo one layer of compression; an archive inside belongs to the same container."""
    name = PurePosixPath(path).name
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _SUFFIXES:
        name = name[: -len(suffix)] + _SUFFIXES[suffix]
    with stream(raw) as content:
        plain = budget.take(content, len(raw))
    if file_type(plain, name) is FileType.TAR:
        yield from _tar_members(plain, budget)
    else:
        yield ArchiveMember(name or "content", plain)


def _xz(raw: bytes) -> IO[bytes]:
    """Unpack directly, because the file interface of lzma has no memory limit."""
    out = io.BytesIO()
    while raw:
        stream = lzma.LZMADecompressor(memlimit=_MAX_WINDOW_BYTES)
        out.write(stream.decompress(raw, MAX_UNPACKED_BYTES + 1 - out.tell()))
        if out.tell() > MAX_UNPACKED_BYTES:
            break
        if not stream.eof:
            raise EOFError
        raw = stream.unused_data.lstrip(b"\0")
    out.seek(0)
    return out


_STREAMS: dict[FileType, Callable[[bytes], IO[bytes]]] = {
    FileType.GZIP: lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=io.BytesIO(raw))),
    FileType.BZIP2: lambda raw: bz2.BZ2File(io.BytesIO(raw)),
    FileType.XZ: _xz,
}


def _member(name: str, raw: bytes, *, target: str = "") -> ArchiveMember:
    """Flag a member that would be written outside the target folder."""
    leads_out = next((path for path in (name, target) if _leads_out(path)), None)
    flaw = f"an archive that writes outside its folder: {leads_out}" if leads_out else ""
    return ArchiveMember(name, raw, flaw=flaw, detail="broken" if flaw else "")


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or name[1:2] == ":"
