"""Decode escapes: characters written as numbers, in one of four ways."""

import re
import sys

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|0?([0-7]{2,3})|(.))", re.DOTALL
)
_LETTERS = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "",
    "b": "",
    "e": "\x1b",
    "f": "",
    "v": "",
    "0": "",
}
_SURROGATES = range(0xD800, 0xE000)
#: This many characters written as numbers are more than a colour or a line end.
_MANY = 3


def unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def spells_letters(text: str) -> bool:
    """Return whether a text writes letters as numbers, which only hides them."""
    hidden = sum(
        1 for found in _ESCAPE.finditer(text) if not found[5] and _character(found).isalnum()
    )
    return hidden >= _MANY


def _character(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits:
        number = int(digits, 16)
    elif found[4]:
        number = int(found[4], 8)
    else:
        return _LETTERS.get(found[5], found[5])
    is_letter = number <= sys.maxunicode and number not in _SURROGATES
    return chr(number) if is_letter else "?"
