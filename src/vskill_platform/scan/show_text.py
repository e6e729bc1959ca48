"""Hostile text made fit to be shown: what a terminal or a browser would obey is spelled out."""

import re
import unicodedata

#: Look like nothing at all, though they count as printable.
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
#: Stands for a character that would change how others are shown, or not be seen.
_SPELLED = "⟨U+{:04X}⟩"
SPELLED_OUT = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩")
_SELECTORS = range(0xE0100, 0xE01F0)
#: What JSON may hold and a terminal, or a program that cuts at line ends, must not meet.
_RISKY_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_TAB = "    "
_MOST_REMEMBERED = 10_000


def show(text: str, *, limit: int = 0) -> str:
    """Return *text* on one line with nothing in it that acts; cut it after *limit* characters."""
    shown = text if is_harmless(text) else text.translate(_shown_as)
    return f"{shown[: limit - 1]}…" if limit and len(shown) > limit else shown


def is_harmless(text: str) -> bool:
    return text.isascii() and text.isprintable()


def quiet_json(encoded: bytes) -> bytes:
    """Escape in JSON what would act on whoever prints it; the values stay the same."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    return _RISKY_IN_JSON.sub(_escape, encoded.decode()).encode()


def _show_character(char: str) -> str:
    if char == "\t":
        return _TAB
    if unicodedata.category(char) == "Zs":
        return " "
    if char.isprintable() and char not in _BLANKS and ord(char) not in _SELECTORS:
        return char
    return _SPELLED.format(ord(char))


class _ShownAs(dict[int, str]):
    """How each character is shown, remembered: a text has few that differ, and many in all."""

    def __missing__(self, code: int) -> str:
        found = _show_character(chr(code))
        if len(self) < _MOST_REMEMBERED:
            self[code] = found
        return found


_shown_as = _ShownAs()


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
