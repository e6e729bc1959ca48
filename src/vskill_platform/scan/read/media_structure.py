"""Check that a file with the magic bytes of an image, sound, font or PDF also has its structure.

A shell skips a first line that it does not understand and runs the next one. So magic bytes alone
prove nothing, and a file whose structure does not match them is text or unknown data.
"""

import re
from collections.abc import Callable

_PDF = re.compile(rb"%PDF-[12]\.\d[\r\n]")
_PDF_OBJECT = re.compile(rb"\b\d{1,9} \d{1,5} obj\b")
#: The latest position of the first object in a PDF.
_PDF_HEAD = 4096
_RIFF_KINDS = frozenset({b"WEBP", b"WAVE", b"AVI "})
_GIF_BLOCKS = frozenset({0x21, 0x2C, 0x3B})
_MAX_CHUNKS = 10_000


def has_structure(magic: bytes, raw: bytes) -> bool:
    """Return whether *raw*, a file or its start, has the structure that its magic bytes promise."""
    check = _CHECKS.get(magic)
    return check is None or check(raw)


def _png(raw: bytes) -> bool:
    if raw[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    at, first = 8, True
    for _ in range(_MAX_CHUNKS):
        if at + 8 > len(raw):
            return True  # truncated
        size, kind = int.from_bytes(raw[at : at + 4]), raw[at + 4 : at + 8]
        if not kind.isalpha() or (first and (kind != b"IHDR" or size != 13)):  # noqa: PLR2004 - a number of the format
            return False
        if kind == b"IEND":
            return True
        at, first = at + size + 12, False
    return True


def _jpeg(raw: bytes) -> bool:
    at = 2
    for _ in range(_MAX_CHUNKS):
        if at + 4 > len(raw):
            return True
        if raw[at] != 0xFF:  # noqa: PLR2004 - a number of the format
            return False
        marker = raw[at + 1]
        if marker in {0xD9, 0xDA}:
            return True
        at += 2 + max(int.from_bytes(raw[at + 2 : at + 4]), 2)
    return True


def _gif(raw: bytes) -> bool:
    if raw[:6] not in {b"GIF87a", b"GIF89a"} or len(raw) < 13:  # noqa: PLR2004 - a number of the format
        return False
    table = 3 << ((raw[10] & 7) + 1) if raw[10] & 0x80 else 0
    block = raw[13 + table : 14 + table]
    return not block or block[0] in _GIF_BLOCKS


def _id3(raw: bytes) -> bool:
    return len(raw) >= 10 and raw[3] in {2, 3, 4} and max(raw[6:10]) < 0x80  # noqa: PLR2004 - a number of the format


def _pdf(raw: bytes) -> bool:
    return bool(_PDF.match(raw) and _PDF_OBJECT.search(raw[:_PDF_HEAD]))


def _font(raw: bytes) -> bool:
    return len(raw) >= 12 and 0 < int.from_bytes(raw[4:6]) < 200  # noqa: PLR2004 - a number of the format


_CHECKS: dict[bytes, Callable[[bytes], bool]] = {
    b"\x89PNG": _png,
    b"\xff\xd8\xff": _jpeg,
    b"GIF8": _gif,
    b"RIFF": lambda raw: raw[8:12] in _RIFF_KINDS,
    b"OggS": lambda raw: raw[4:5] == b"\0",
    b"ID3": _id3,
    b"%PDF": _pdf,
    b"wOFF": lambda raw: b"\0" in raw[4:24],
    b"wOF2": lambda raw: b"\0" in raw[4:24],
    b"\x00\x01\x00\x00": _font,
    b"OTTO": _font,
    b"\xd0\xcf\x11\xe0": lambda raw: raw[4:8] == b"\xa1\xb1\x1a\xe1",
    b"SQLite format 3\x00": lambda raw: len(raw) >= 100,  # noqa: PLR2004 - a number of the format
    b"BZh": lambda raw: raw[4:10] in {b"1AY&SY", b"\x17rE8P\x90"},
    b"MSCF": lambda raw: raw[4:8] == bytes(4),
    b"MZ": lambda raw: b"\0" in raw[:64],
    b"koly": lambda raw: b"\0" in raw[:64],
    b"dex\n": lambda raw: b"\0" in raw[:64],
    b"xar!": lambda raw: b"\0" in raw[:64],
}
