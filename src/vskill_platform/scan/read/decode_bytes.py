"""Decode a file's bytes to text as interpreters and agents do.

If readers differ, a file has more than one reading, and all of them are scanned. Such a file counts
as not reliably readable.
"""

import codecs
import re
from typing import NamedTuple

#: In UTF-16 text, (nearly) every second byte is zero; in UTF-32, three of four bytes.
_SNIFF, _MOSTLY = 8192, 0.7
_LINE_END = re.compile(r"\r\n?")
#: The declaration of a file's encoding for Python and Emacs, in the first two lines.
_COOKIE = re.compile(rb"^[^\n]{0,200}\n?[^\n]{0,200}?coding[:=][ \t]*([-\w.]{2,40})")
_COOKIE_BYTES = 420
#: Encodings in which every byte below 128 is ASCII.
_PLAIN = frozenset({"utf-8", "ascii", "iso8859-1", "latin-1", "cp1252", "utf-8-sig"})
#: Encodings that hide ASCII text in other ASCII text.
_MASKING = frozenset(
    {"utf-7", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "hz", "unicode_escape"}
)
#: With a larger share of bytes that are not UTF-8, a file has another encoding.
_MAX_BROKEN_SHARE = 0.02
_REPLACED = "\ufffd"
_MARKS = (
    codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE,
)  # fmt: skip


class Reading(NamedTuple):
    """The possible texts of a file, most likely first."""

    texts: tuple[str, ...]
    #: Whether it is unclear which text a program would use.
    is_doubtful: bool = False


def read_bytes(raw: bytes) -> Reading:
    """Decode a file, with line feeds as line ends."""
    texts, is_doubtful = _read(raw)
    plain = (_LINE_END.sub("\n", text) if "\r" in text else text for text in dict.fromkeys(texts))
    return Reading(tuple(plain), is_doubtful)


def text_of(raw: bytes) -> str:
    """Return the most likely text, for display."""
    return read_bytes(raw).texts[0]


def _read(raw: bytes) -> tuple[list[str], bool]:
    has_mark = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in raw:
        return _read_wide(raw)
    plain = raw.decode("utf-8", errors="replace")
    if has_mark:
        return [plain, raw.decode("utf-16", errors="replace")], True
    cookie = _COOKIE.match(raw) if b"coding" in raw[:_COOKIE_BYTES] else None
    if cookie and (other := _by_cookie(raw, cookie[1])) is not None:
        return [plain, other], False
    if _REPLACED in plain and plain.count(_REPLACED) > _MAX_BROKEN_SHARE * len(raw):
        return [plain, raw.decode("gb18030", errors="replace")], True
    return [plain], False


def _read_wide(raw: bytes) -> tuple[list[str], bool]:
    """Decode a text with zeros: with two or four bytes per character, and like a shell."""
    dropped = raw.replace(b"\0", b"").decode("utf-8", errors="replace")
    encoding = _wide_encoding(raw)
    if encoding is None:
        return [dropped], True
    wide = raw.decode(encoding, errors="replace").removeprefix("\ufeff")
    # For ASCII text both are the same, whatever comes after its start.
    is_same = wide == dropped.lstrip(_REPLACED)
    has_mark = raw.startswith(_MARKS)
    is_sure = has_mark and (is_same or _is_wide_throughout(raw, wide))
    return ([wide] if is_same else [wide, dropped]), not is_sure


def _wide_encoding(raw: bytes) -> str | None:
    # In a short text, the byte order mark would outweigh the zeros; longer marks start with shorter
    # ones.
    mark = max((len(mark) for mark in _MARKS if raw.startswith(mark)), default=0)
    head = raw[mark : mark + _SNIFF]
    quarter, half = len(head) * _MOSTLY / 4, len(head) * _MOSTLY / 2
    zeros = [head[start::4].count(0) for start in range(4)]
    if min(zeros[1:]) > quarter:
        return "utf-32-le"
    if min(zeros[:3]) > quarter:
        return "utf-32-be"
    if head[1::2].count(0) > half:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > half else None


def _is_wide_throughout(raw: bytes, wide: str) -> bool:
    """Return whether the zeros continue to the end, so that nothing else is appended."""
    return _REPLACED not in wide and raw.count(0) > _MOSTLY * len(raw) / 2


def _by_cookie(raw: bytes, name: bytes) -> str | None:
    """Decode a file with its declared encoding, if that could change the meaning."""
    try:
        codec = codecs.lookup(name.decode("ascii", errors="replace"))
        if codec.name in _PLAIN or (raw.isascii() and codec.name not in _MASKING):
            return None
        return raw.decode(codec.name, errors="replace")
    except (LookupError, UnicodeError, ValueError):
        return None
