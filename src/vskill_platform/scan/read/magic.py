"""Detect a file's type by its first bytes, whatever its name."""

from enum import StrEnum

from vskill_platform.scan.read.media_structure import has_structure


class FileType(StrEnum):
    TEXT = "text"
    EXECUTABLE = "an executable program"
    BYTECODE = "compiled code"
    ZIP = "a zip archive"
    TAR = "a tar archive"
    GZIP = "a gzip file"
    BZIP2 = "a bzip2 file"
    XZ = "an xz file"
    ARCHIVE = "an archive that is not opened"
    DISK_IMAGE = "a disk image or installer"
    MEDIA = "media"
    DOCUMENT = "a document"
    DATA = "data of an unknown kind"


#: Types that are opened to scan their content.
CONTAINERS = frozenset({FileType.ZIP, FileType.TAR, FileType.GZIP, FileType.BZIP2, FileType.XZ})
#: A larger container is not opened; published files cannot be larger.
MAX_CONTAINER_BYTES = 10 * 1024 * 1024
_MAGIC: tuple[tuple[bytes, FileType], ...] = (
    (b"\x7fELF", FileType.EXECUTABLE),
    (b"MZ", FileType.EXECUTABLE),
    (b"\xfe\xed\xfa\xce", FileType.EXECUTABLE),
    (b"\xfe\xed\xfa\xcf", FileType.EXECUTABLE),
    (b"\xce\xfa\xed\xfe", FileType.EXECUTABLE),
    (b"\xcf\xfa\xed\xfe", FileType.EXECUTABLE),
    (b"\xca\xfe\xba\xbe", FileType.BYTECODE),  # Java, or a Mach-O for several machines
    (b"\x00asm", FileType.BYTECODE),
    (b"dex\n", FileType.BYTECODE),
    (b"PK\x03\x04", FileType.ZIP),
    (b"PK\x05\x06", FileType.ZIP),
    (b"\x1f\x8b", FileType.GZIP),
    (b"7z\xbc\xaf\x27\x1c", FileType.ARCHIVE),
    (b"Rar!\x1a\x07", FileType.ARCHIVE),
    (b"\xfd7zXZ\x00", FileType.XZ),
    (b"BZh", FileType.BZIP2),
    (b"\x28\xb5\x2f\xfd", FileType.ARCHIVE),
    (b"MSCF", FileType.ARCHIVE),
    (b"!<arch>\n", FileType.DISK_IMAGE),
    (b"xar!", FileType.DISK_IMAGE),
    (b"koly", FileType.DISK_IMAGE),
    (b"\xd0\xcf\x11\xe0", FileType.DOCUMENT),
    (b"%PDF", FileType.DOCUMENT),
    (b"\x89PNG", FileType.MEDIA),
    (b"\xff\xd8\xff", FileType.MEDIA),
    (b"GIF8", FileType.MEDIA),
    (b"RIFF", FileType.MEDIA),
    (b"OggS", FileType.MEDIA),
    (b"ID3", FileType.MEDIA),
    (b"wOFF", FileType.MEDIA),
    (b"wOF2", FileType.MEDIA),
    (b"\x00\x01\x00\x00", FileType.MEDIA),
    (b"OTTO", FileType.MEDIA),
    (b"SQLite format 3\x00", FileType.DATA),
)
#: By the first byte, because most files are text, and most texts start with none of these.
_MAGIC_BY_START = {
    start: tuple(pair for pair in _MAGIC if pair[0][:1] == start)
    for start in {magic[:1] for magic, _ in _MAGIC}
}
#: The end record of a zip archive, and its maximum distance from the end.
_ZIP_END = b"PK\x05\x06"
_ZIP_END_REACH = 22 + 0xFFFF
_PYTHON_BYTECODE = b"\r\r\n"
_SNIFF = 8192
#: Bytes that do not occur in text, with a few exceptions.
_CONTROL = bytes([*range(9), *range(14, 27), *range(28, 32)])
_MAX_CONTROL_SHARE = 0.05
_MOSTLY_ZERO = 0.7
#: Which of four bytes are zero in ASCII text of two or four bytes per character.
_WIDE_PATTERNS = (
    [False, True, False, True],
    [True, False, True, False],
    [False, True, True, True],
    [True, True, True, False],
)


def file_type(head: bytes, name: str) -> FileType:
    """Return the type of a file; *head* is its beginning."""
    for magic, kind in _MAGIC_BY_START.get(head[:1], ()):
        if head.startswith(magic) and has_structure(magic, head):
            return kind
    if head[2:4] == _PYTHON_BYTECODE[1:] and name.endswith((".pyc", ".pyo")):
        return FileType.BYTECODE
    if head[4:8] == b"ftyp":
        return FileType.MEDIA
    if head[257:262] == b"ustar":
        return FileType.TAR
    if not _is_binary(head[:_SNIFF]):
        return FileType.TEXT
    return FileType.TAR if name.lower().endswith(".tar") else FileType.DATA


def pretends(head: bytes) -> bool:
    """Return whether a file starts like one type but continues differently."""
    starts = _MAGIC_BY_START.get(head[:1], ())
    return any(head.startswith(magic) and not has_structure(magic, head) for magic, _ in starts)


def has_archive_behind(tail: bytes) -> bool:
    """Return whether a zip archive ends here, which may be appended to an image or a script."""
    return _ZIP_END in tail[-_ZIP_END_REACH:]


def is_wide_text(head: bytes) -> bool:
    """Return whether zeros alternate with other bytes, as in UTF-16 and UTF-32."""
    quarter = len(head) / 4
    zeros = [head[start::4].count(0) > _MOSTLY_ZERO * quarter for start in range(4)]
    return zeros in _WIDE_PATTERNS


def _is_binary(head: bytes) -> bool:
    if b"\x00" in head and not is_wide_text(head):
        return True
    if b"\x00" in head:
        return False
    return len(head) - len(head.translate(None, _CONTROL)) > _MAX_CONTROL_SHARE * len(head)
