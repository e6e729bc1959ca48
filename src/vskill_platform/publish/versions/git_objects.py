"""Build git objects and packs in memory: the same files give the same ids on every node.

This supports only what the repository of a skill needs: files, folders and commits.
`gitformat-pack(5)` describes the two files of a pack.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import IntEnum
from threading import Lock
from typing import IO

import msgspec

_AUTHOR = "vskill-platform <noreply@vskill.invalid>"
#: Git's own default level takes twice as long and saves only a tenth of the size.
_LEVEL = 1
#: The smallest window and memory of zlib, which clears both before each compression: that takes
#: longer than to compress a small file.
_MIN_WINDOW_BITS, _MEMORY_LEVEL = 9, 7
_PACK_VERSION, _INDEX_VERSION = 2, 2
_INDEX_MAGIC = b"\xfftOc"
_FAN_OUT = 256
_CHUNK = 1024 * 1024
#: Larger offsets would need a second table.
MAX_PACK_BYTES = 2**31 - 1


class ObjectKind(IntEnum):
    COMMIT = 1
    TREE = 2
    BLOB = 3


class GitObject(msgspec.Struct, frozen=True):
    kind: ObjectKind
    content: bytes
    id: str


def make_object(kind: ObjectKind, content: bytes) -> GitObject:
    header = f"{kind.name.lower()} {len(content)}\0".encode()
    return GitObject(kind, content, _sha1(header + content).hexdigest())


class TreeFile(msgspec.Struct, frozen=True):
    content: bytes
    is_executable: bool


class _Entry(msgspec.Struct, frozen=True):
    mode: str
    id: str


def build_tree(files: Mapping[str, TreeFile]) -> Iterator[GitObject]:
    """Yield the objects of these files and their folders; the root comes last."""
    folders: dict[str, dict[str, _Entry]] = {"": {}}
    for path, file in files.items():
        blob = make_object(ObjectKind.BLOB, file.content)
        yield blob
        folder, _, name = path.rpartition("/")
        mode = "100755" if file.is_executable else "100644"
        folders.setdefault(folder, {})[name] = _Entry(mode, blob.id)
        while folder:
            folder = folder.rpartition("/")[0]
            folders.setdefault(folder, {})
    for path in sorted(folders, key=_depth, reverse=True):
        tree = make_object(ObjectKind.TREE, _encode_folder(folders[path]))
        yield tree
        if path:
            parent, _, name = path.rpartition("/")
            folders[parent][name] = _Entry("40000", tree.id)


def build_folder(name: str, tree: str) -> GitObject:
    """Return a folder that contains one other folder."""
    return make_object(ObjectKind.TREE, _encode_folder({name: _Entry("40000", tree)}))


def build_commit(
    tree: str, *, parent: str | None, version: str, digest: str, at: datetime
) -> GitObject:
    """Return the commit of a version; it depends only on this version and those before it."""
    when = f"{_AUTHOR} {int(at.timestamp())} +0000"
    lines = [
        f"tree {tree}",
        *([f"parent {parent}"] if parent else []),
        f"author {when}",
        f"committer {when}",
        "",
        f"v{version}",
        "",
        f"Content-Digest: sha256:{digest}",
        "",
    ]
    return make_object(ObjectKind.COMMIT, "\n".join(lines).encode())


class PackWriter:
    """Writes objects to a pack, each only once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writing = Lock()
        #: The checksum and the position of each object, by its id.
        self._written: dict[str, tuple[int, int]] = {}
        self._file.write(bytes(12))  # the header, which needs the number of objects
        #: The bytes written so far.
        self.size = 12

    def find_new(self, items: Iterable[GitObject]) -> list[GitObject]:
        """Return the objects that are not in the pack yet, each only once."""
        return list({item.id: item for item in items if item.id not in self._written}.values())

    def write_header(self, left: int) -> int:
        """Write what a pack begins with, before the last *left* objects; return the size so far.

        From here on the pack only grows, so that it can be read meanwhile.
        """
        self._file.seek(0)
        numbers = (_PACK_VERSION, len(self._written) + left)
        self._file.write(b"PACK" + b"".join(_uint32(number) for number in numbers))
        self._file.seek(self.size)
        self._file.flush()
        return self.size

    def write(self, items: Iterable[GitObject]) -> int:
        """Compress objects and write them; return the size so far. Threads may share the work."""
        packed = [(item.id, _pack_object(item)) for item in items]
        with self._writing:
            for name, content in packed:
                self._written[name] = (zlib.crc32(content), self.size)
                self._file.write(content)
                self.size += len(content)
            self._file.flush()
            if self.size > MAX_PACK_BYTES:
                raise OverflowError("this repository is too large for one pack")
            return self.size

    def finish(self) -> bytes:
        """Complete the pack; return its index."""
        self._file.seek(0)
        hashed = _sha1()
        while piece := self._file.read(_CHUNK):
            hashed.update(piece)
        self._file.write(hashed.digest())
        self._file.flush()
        self.size += len(hashed.digest())
        return self._index(hashed.digest())

    def _index(self, checksum: bytes) -> bytes:
        ids = sorted(self._written)
        firsts = [int(name[:2], 16) for name in ids]
        counts, seen = [], 0
        for byte in range(_FAN_OUT):
            while seen < len(firsts) and firsts[seen] <= byte:
                seen += 1
            counts.append(seen)
        body = b"".join(
            [
                _INDEX_MAGIC,
                _uint32(_INDEX_VERSION),
                *map(_uint32, counts),
                *map(bytes.fromhex, ids),
                *(_uint32(self._written[name][0]) for name in ids),
                *(_uint32(self._written[name][1]) for name in ids),
                checksum,
            ]
        )
        return body + _sha1(body).digest()


def _pack_object(item: GitObject) -> bytes:
    """Return an object in the form that a pack contains."""
    return _object_header(item) + _compress(item.content)


def _compress(content: bytes) -> bytes:
    window = min(max(len(content).bit_length(), _MIN_WINDOW_BITS), zlib.MAX_WBITS)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, window, _MEMORY_LEVEL)
    return packer.compress(content) + packer.flush()


def _sha1(content: bytes = b"") -> "hashlib._Hash":
    return hashlib.sha1(content, usedforsecurity=False)


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0


def _encode_folder(entries: Mapping[str, _Entry]) -> bytes:
    # Git sorts folders as if their names ended in a slash.
    ordered = sorted(
        entries.items(), key=lambda item: (item[0] + "/" * (item[1].mode == "40000")).encode()
    )
    return b"".join(
        f"{entry.mode} {name}\0".encode() + bytes.fromhex(entry.id) for name, entry in ordered
    )


def _object_header(item: GitObject) -> bytes:
    """Encode kind and size: first four bits of the size, then seven bits in each byte."""
    size = len(item.content)
    parts = [item.kind << 4 | size & 0x0F]
    size >>= 4
    while size:
        parts[-1] |= 0x80
        parts.append(size & 0x7F)
        size >>= 7
    return bytes(parts)


def _uint32(number: int) -> bytes:
    return number.to_bytes(4)
