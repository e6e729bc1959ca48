"""Text to show: untrusted text with its control characters escaped, and counted nouns."""

import re
import unicodedata
from collections.abc import Callable

#: Invisible characters that Unicode calls printable.
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
#: Replaces a character that is invisible or would change how others are shown.
_SPELLED = "⟨U+{:04X}⟩"
SPELLED_OUT = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩")
_SELECTORS = range(0xE0100, 0xE01F0)
_TAB = "    "
_MOST_REMEMBERED = 10_000


def show(text: str, *, limit: int = 0) -> str:
    """Return *text* on one line, with control characters escaped, cut after *limit* characters."""
    shown = text if is_harmless(text) else text.translate(_shown_as)
    return f"{shown[: limit - 1]}…" if limit and len(shown) > limit else shown


def show_lines(text: str) -> str:
    """Return *text* with its line breaks and all other control characters escaped."""
    return "\n".join(map(show, text.split("\n")))


def count_of(number: int, noun: str) -> str:
    """Return the number with its noun: "1 finding", "2,000 findings"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def is_harmless(text: str) -> bool:
    return text.isascii() and text.isprintable()


def quiet_json(encoded: bytes) -> bytes:
    """Escape control characters in JSON text; the values stay the same."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return encoded.decode().translate(_json_as).encode()


def _show_character(char: str) -> str:
    if char == "\t":
        return _TAB
    if unicodedata.category(char) == "Zs":
        return " "
    return char if _is_seen(char) else _SPELLED.format(ord(char))


def _is_seen(char: str) -> bool:
    """Return whether a character is visible and does not change how others are shown."""
    return char.isprintable() and char not in _BLANKS and ord(char) not in _SELECTORS


def _escape_in_json(char: str) -> str:
    # Between the values of JSON are only spaces and line ends; inside values they are escaped.
    if char in "\n\r\t" or unicodedata.category(char) == "Zs" or _is_seen(char):
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


class _Remembered(dict[int, str]):
    """A cache of how each character is shown: a text has few different characters."""

    def __init__(self, show_one: Callable[[str], str]) -> None:
        super().__init__()
        self._show_one = show_one

    def __missing__(self, code: int) -> str:
        found = self._show_one(chr(code))
        if len(self) < _MOST_REMEMBERED:
            self[code] = found
        return found


_shown_as = _Remembered(_show_character)
_json_as = _Remembered(_escape_in_json)
