"""Decode encoded text layer by layer, with limits on depth and size."""

import base64
import binascii
import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from urllib.parse import unquote

import re2

#: Attackers nest encodings, but hardly deeper than this.
MAX_LAYERS = 4
MAX_BYTES = 256 * 1024
#: Shorter texts can be decoded by chance.
_MIN_CHARACTERS = 12
_MIN_VARIETY = 8
_MIN_BASE85 = 40
_SHORT = 400

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){8,}|(?:\\x[0-9a-fA-F]{2}){4,}|(?:0x[0-9a-fA-F]{2},?\s*){4,}")
_BASE32 = re.compile(r"[A-Z2-7]{16,}={0,6}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){4,}")
#: Everything that `\s` matches in `re`.
_SPACE = r"[\s\v\x1c-\x1f\x{85}\pZ]"
_RUN_PATTERNS = (
    "[A-Za-z0-9+/]{24,}={0,2}",
    _HEX.pattern.replace(r"\s", _SPACE),
    _PERCENT.pattern,
)
_RUNS = [re2.compile(pattern) for pattern in _RUN_PATTERNS]
#: Most texts have no such run; the others are searched from the first run on.
_ANY_RUN = re2.compile("|".join(_RUN_PATTERNS))
_WORDS = re.compile(
    r"\b(?:curl|wget|bash|/bin/sh|sh -c|https?://|powershell|iex|python|import |eval|exec|"
    r"require\(|function|echo|sudo|chmod|rm -rf|nc |socket|os\.|subprocess)|\|\s*(?:ba)?sh\b",
    re.IGNORECASE,
)
#: URLs that are never fetched: names of XML vocabularies, and the hosts of RFC 2606.
_NO_ADDRESS = re.compile(
    r"""\bxmlns(?::\w+)?=(?:"[^"]*"|'[^']*')|https?://(?:www\.w3\.org|schemas\.openxmlformats\.org|"""
    r"""schemas\.microsoft\.com|schemas\.xmlsoap\.org|ns\.adobe\.com|purl\.org|"""
    r"""(?:www\.)?example\.(?:com|net|org))(?=[/"'\s<>?#]|$)""",
    re.IGNORECASE,
)
_QUERY = re.compile(r"https?://[^\s\"'`<>|;]{1,253}\?[^\s\"'`<>|;]*=[^\s\"'`<>|;]*$", re.IGNORECASE)
#: Signs that a program, or the agent, decodes such escapes.
_UNESCAPES = re.compile(
    r"unquote|unescape|decode|printf|echo -e|\\x|perl|//%|xxd|parse_qs|searchParams|CGI",
    re.IGNORECASE,
)
#: A truncated text this short is inconclusive.
_ELLIPSES = ("...", "…")
_MAX_BROKEN_OFF = 24


def decode_literal(text: str) -> str | None:
    """Return the decoded text, or None if it cannot be decoded."""
    return _decode_short(text) if len(text) <= _SHORT else _decode(text)


@lru_cache(maxsize=256)
def _decode_short(text: str) -> str | None:
    """Cache short runs, because several checks decode the same ones and long paths repeat."""
    return _decode(text)


def _decode(text: str) -> str | None:
    best: str | None = None
    current = text.strip()
    for _ in range(MAX_LAYERS):
        decoded = _decode_once(current)
        if decoded is None or decoded == current:
            break
        best = current = decoded
    return best


def encoded_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of long runs of encoded characters."""
    raw = text.encode(errors="replace")
    first = _ANY_RUN.search(raw)
    if first is None:
        return
    # In ASCII text, byte positions are text positions.
    hay, begin = (raw, first.start()) if len(raw) == len(text) else (raw.decode(), 0)
    for pattern in _RUNS:
        for found in pattern.finditer(hay, begin):
            start, end = found.span()
            if end - start >= _MIN_CHARACTERS:
                yield start, end


def find_encoded(text: str) -> list[tuple[int, str]]:
    """Return the decoded text of each encoded run in *text* that turns out to be code."""
    found = []
    for start, end in encoded_runs(text[:MAX_BYTES]):
        if text[start] == "%" and _is_query(text, start):
            continue
        plain = decode_literal(text[start:end])
        if plain and _WORDS.search(_NO_ADDRESS.sub("", plain)):
            is_broken_off = text.startswith(_ELLIPSES, end) and len(plain) < _MAX_BROKEN_OFF
            if not is_broken_off:
                found.append((start, plain))
    return found


def _is_query(text: str, start: int) -> bool:
    """Return whether an escaped text belongs to a URL's query, which only its server decodes."""
    line = text[max(start - _SHORT, 0) : start].rpartition("\n")[2]
    return _QUERY.search(line) is not None and not _UNESCAPES.search(text)


def _decode_once(text: str) -> str | None:
    if not _MIN_CHARACTERS <= len(text) <= MAX_BYTES:
        return None
    for decode in (_hex, _base32, _base64, _percent, _base85):
        plain = decode(text)
        if plain is not None:
            return plain
    rotated = codecs.decode(text, "rot13")
    return rotated if _WORDS.search(rotated) and not _WORDS.search(text) else None


def _readable(raw: bytes) -> str | None:
    """Return bytes as text if they look like text, after decompressing them."""
    raw = _unpack(raw)
    for encoding in ("utf-8", "utf-16-le"):  # PowerShell encodes its commands as UTF-16
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        printable = sum(char.isprintable() or char in "\r\n\t" for char in text)
        if text and printable >= 0.95 * len(text) and (encoding == "utf-8" or text.isascii()):
            return text
    return None


def _unpack(raw: bytes) -> bytes:
    try:
        if raw[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
                return file.read(MAX_BYTES)
        if raw[:1] == b"x":
            return zlib.decompressobj().decompress(raw, MAX_BYTES)
    except (OSError, EOFError, zlib.error):
        return raw
    return raw


def _attempt(decode: Callable[[], bytes]) -> str | None:
    try:
        return _readable(decode())
    except (ValueError, binascii.Error):
        return None


def _base64(text: str) -> str | None:
    compact = "".join(text.split())
    if not _BASE64.fullmatch(compact) or len(set(compact)) < _MIN_VARIETY:
        return None
    padded = compact.rstrip("=") + "=" * (-len(compact.rstrip("=")) % 4)
    return _attempt(lambda: base64.b64decode(padded.replace("-", "+").replace("_", "/")))


def _base32(text: str) -> str | None:
    compact = "".join(text.split())
    if not _BASE32.fullmatch(compact):
        return None
    padded = compact.rstrip("=") + "=" * (-len(compact.rstrip("=")) % 8)
    return _attempt(lambda: base64.b32decode(padded))


def _base85(text: str) -> str | None:
    if len(text) < _MIN_BASE85 or " " in text or not text.isascii():
        return None
    plain = _attempt(lambda: base64.b85decode(text)) or _attempt(lambda: base64.a85decode(text))
    return plain if plain and _WORDS.search(plain) else None


def _hex(text: str) -> str | None:
    if not _HEX.fullmatch(text):
        return None
    digits = re.sub(r"\\x|0x|[,\s]", "", text)
    return _attempt(lambda: bytes.fromhex(digits))


def _percent(text: str) -> str | None:
    return unquote(text) if _PERCENT.search(text) else None
