"""Pack a snapshot into a reproducible archive: the same files give the same bytes."""

import hashlib
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from vskill_platform.engines.ports import MAX_VALUE_BYTES
from vskill_platform.errors import SourceRefused
from vskill_platform.model.skill import SkillFile

#: A gzip header without a file name, date or operating system.
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LEVEL = 6
#: For input up to this size, half the usual window gives the same output with half the memory.
#: Changing any of these parameters changes the bytes of all new archives.
_SMALL = 16 * 1024
_CHUNK = 256 * 1024


class Packed(msgspec.Struct, frozen=True):
    content: bytes
    sha256: str


def pack(folder: Path, files: Sequence[SkillFile]) -> Packed:
    """Pack the files into a gzipped tar archive, in the given order, without dates or owners."""
    return _pack(files, (_content(folder, file) for file in files))


def pack_contents(files: Sequence[SkillFile], contents: Sequence[bytes]) -> Packed:
    """Build the same archive from files that are already in memory."""
    return _pack(files, ((content,) for content in contents))


def _pack(files: Sequence[SkillFile], contents: Iterable[Iterable[bytes]]) -> Packed:
    is_small = sum(file.size for file in files) <= _SMALL
    squeezer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -14 if is_small else -zlib.MAX_WBITS)
    parts, checksum, size = [_GZIP_HEADER], 0, 0
    for piece in _gathered(_tar(files, contents)):
        parts.append(squeezer.compress(piece))
        checksum, size = zlib.crc32(piece, checksum), size + len(piece)
    end = checksum.to_bytes(4, "little") + (size & 0xFFFF_FFFF).to_bytes(4, "little")
    content = b"".join([*parts, squeezer.flush(), end])
    if len(content) > MAX_VALUE_BYTES:
        raise SourceRefused(f"the packed skill is larger than {MAX_VALUE_BYTES:,} bytes")
    return Packed(content, hashlib.sha256(content).hexdigest())


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join small pieces into large ones, because each piece waits for the GIL."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _tar(files: Sequence[SkillFile], contents: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """Yield the bytes that `tarfile` would write, in half the time for small files."""
    written = 0
    for file, content in zip(files, contents, strict=True):
        entry = tarfile.TarInfo(file.path)
        entry.size = file.size
        entry.mode = 0o755 if file.is_executable else 0o644
        header = entry.tobuf(tarfile.PAX_FORMAT, "utf-8")
        yield header
        yield from content
        padding = -file.size % tarfile.BLOCKSIZE
        yield bytes(padding)
        written += len(header) + file.size + padding
    end = 2 * tarfile.BLOCKSIZE
    yield bytes(end + -(written + end) % tarfile.RECORDSIZE)


def _content(folder: Path, file: SkillFile) -> Iterator[bytes]:
    """Yield a file up to its size in the snapshot; raise if it is shorter now."""
    left = file.size
    with (folder / file.path).open("rb", buffering=0) as reader:
        while left:
            chunk = reader.read(min(left, _CHUNK))
            if not chunk:
                raise OSError(f"{file.path} was truncated after it was read")
            left -= len(chunk)
            yield chunk
