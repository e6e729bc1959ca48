"""Calls that decode text; if the text is known, it is decoded here."""

import base64
import binascii
import bz2
import codecs
import html
import lzma
import zlib
from collections.abc import Callable
from urllib.parse import unquote

from vskill_platform.scan.facts.decode_text import MAX_BYTES, decode_literal
from vskill_platform.scan.languages.flow.state import Call, Flow, Handler
from vskill_platform.scan.languages.flow.values import Taint, Taints, TaintSource, Value

_Decoder = Callable[[bytes], bytes]
_SURROGATES = 0xD800
_ROT13 = frozenset({"rot13", "rot_13", "rot-13"})


def decoding(decode: _Decoder) -> Handler:
    """Return the handler of a function that decodes its first argument."""

    def handle(_flow: Flow, call: Call) -> Value | None:
        return decoded(call.arg(0, "s", "data", "string"), decode)

    return handle


def decoded(source: Value, decode: _Decoder) -> Value:
    return Value(text=_apply(source, decode), taints=mark(source.taints))


def mark(taints: Taints) -> Taints:
    return taints | {Taint(TaintSource.DECODED)}


def _apply(source: Value, decode: _Decoder) -> str | None:
    text = source.text
    if text is None or not source.is_known() or len(text) > MAX_BYTES:
        return None
    try:
        return decode(text.encode("latin-1"))[:MAX_BYTES].decode("latin-1")
    except (ValueError, binascii.Error, zlib.error, OSError, EOFError, lzma.LZMAError):
        return decode_literal(text)


def base_64(raw: bytes) -> bytes:
    compact = b"".join(raw.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    return base64.b64decode(compact + b"=" * (-len(compact) % 4))


def hexadecimal(raw: bytes) -> bytes:
    return bytes.fromhex(raw.decode("ascii"))


def inflate(raw: bytes) -> bytes:
    """Decompress zlib or gzip data, up to the limit."""
    return zlib.decompressobj(wbits=47).decompress(raw, MAX_BYTES)


def unpack_lzma(raw: bytes) -> bytes:
    return lzma.LZMADecompressor().decompress(raw, MAX_BYTES)


def unpack_bz2(raw: bytes) -> bytes:
    return bz2.BZ2Decompressor().decompress(raw, MAX_BYTES)


def percent(raw: bytes) -> bytes:
    return unquote(raw.decode("latin-1"), "latin-1").encode("latin-1", "replace")


def entities(raw: bytes) -> bytes:
    return html.unescape(raw.decode("latin-1")).encode("latin-1", "replace")


def decode_by_name(_flow: Flow, call: Call) -> Value | None:
    """codecs.decode(text, 'rot13') and Buffer.from(text, 'base64')."""
    name = (call.arg(1, "encoding").text or "").lower()
    source = call.arg(0, "obj")
    if name in _ROT13:
        return decoded(source, lambda raw: codecs.decode(raw.decode("latin-1"), "rot13").encode())
    if "base64" in name:
        return decoded(source, base_64)
    if "hex" in name:
        return decoded(source, hexadecimal)
    if "zip" in name or "zlib" in name:
        return decoded(source, inflate)
    return Value(text=source.text, taints=source.taints)


def opaque(_flow: Flow, call: Call) -> Value | None:
    """A decoding that cannot be reproduced here: decryption, marshal."""
    return Value(taints=mark(call.taints()))


def characters(_flow: Flow, call: Call) -> Value | None:
    """Text from numbers: chr, String.fromCharCode, bytes([...])."""
    numbers = [
        item for arg in call.args for item in (arg.items if arg.items is not None else (arg,))
    ]
    if not numbers or any(item.number is None for item in numbers):
        is_numeric = any(arg.items is not None for arg in call.args) or call.method != "bytes"
        return Value(taints=mark(call.taints())) if is_numeric and call.args else None
    codes = [item.number for item in numbers if item.number is not None]
    text = "".join(chr(code) for code in codes if 0 <= code < _SURROGATES)
    return Value(text=text, taints=mark(call.taints()))


def plain_text(value: Value) -> str:
    """Return the text of bytes that were stored as one character each."""
    text = value.text or ""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
