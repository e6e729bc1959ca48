"""Characters that a reader does not see but a model does, and a view of the text without them."""

import re
import unicodedata
from functools import lru_cache

import re2

#: Fewer hidden letters than this are no message.
_MIN_MESSAGE = 4
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
#: Joiners are part of emoji and of several scripts, so only between Latin letters do they hide.
_INVISIBLE = re.compile(
    "[\u200b\u2060-\u2064\ufeff\u00ad\u180e\u034f]|(?<=[A-Za-z])[\u200c\u200d](?=[A-Za-z])"
)
#: Cyrillic letters inside of Latin words: no language writes so.
_CYRILLIC = "[\u0430-\u044f\u0455\u0456\u0458]"
_MIXED = re.compile(f"[A-Za-z]{_CYRILLIC}|{_CYRILLIC}[A-Za-z]")
#: Letters of other scripts that are drawn like Latin ones, and those.
_DRAWN_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0443\u0456\u0458\u0455\u043a\u0501\u04bb"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425"
    "\u03bf\u03b1\u03c1\u03bd\u03b9\u03ba\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7",
    "aeopcxyijskdhABEKMHOPCTXoapvikABEHIKMNOPTX",
)
_FOREIGN = "[\u0370-\u03ff\u0400-\u052f]"
_MIXED_WORD = re.compile(
    rf"\b(?:[A-Za-z_]\w{{0,60}}{_FOREIGN}|{_FOREIGN}\w{{0,60}}[A-Za-z_])\w{{0,60}}"
)
_ANSI = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_ANY = re.compile(f"{_TAGS.pattern}|{_BIDI.pattern}|{_INVISIBLE.pattern}|{_ANSI.pattern}")
_CUT_WORD = re.compile(f"[A-Za-z](?:{_INVISIBLE.pattern})+[A-Za-z]")
#: One of these is in whatever the patterns above find. A single class of characters is searched
#: many times faster than a choice between patterns, and most texts have none of them.
_TRACE = re2.compile(
    "[\x1b\u00ad\u034f\u180e\u200b-\u200d\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)
_FOREIGN_TRACE = re2.compile(_FOREIGN)


def visible(text: str) -> str:
    """Return the text as it acts: without hidden characters, look-alike forms made plain.

    Lines stay lines, so what is found in this view has its place in the other: nothing is put
    together across a line feed, and nothing becomes one.
    """
    if text.isascii() and "\x1b" not in text:
        return text
    clean = _ANY.sub("", text) if _has_trace(text) else text
    if clean.isascii():
        return clean
    plain = unicodedata.normalize("NFKC", clean)
    if not _FOREIGN_TRACE.search(_encoded(plain)):
        return plain
    return _MIXED_WORD.sub(lambda word: word[0].translate(_DRAWN_ALIKE), plain)


def hidden_message(text: str) -> str | None:
    """Return what is written in Unicode tag characters, if anything is."""
    if not _has_trace(text):
        return None
    found = "".join(_TAGS.findall(text))
    spoken = "".join(chr(ord(char) - 0xE0000) for char in found)
    spoken = "".join(char for char in spoken if char.isprintable())
    return spoken if len(spoken) >= _MIN_MESSAGE and _is_no_flag(text) else None


def bidi_lines(text: str) -> list[int]:
    """Return the lines with characters that change the order in which text is shown."""
    return _lines_with(_BIDI, text) if _has_trace(text) else []


def invisible_in_words(text: str) -> list[int]:
    """Return the lines where a word is cut by a character that nobody sees."""
    return _lines_with(_CUT_WORD, text) if _has_trace(text) else []


def mixed_words(text: str) -> list[int]:
    """Return the lines where letters of two scripts that look alike make one word."""
    is_foreign = not text.isascii() and _FOREIGN_TRACE.search(_encoded(text))
    return _lines_with(_MIXED, text) if is_foreign else []


@lru_cache(maxsize=2)  # one check of a text follows the other
def _has_trace(text: str) -> bool:
    return _TRACE.search(_encoded(text)) is not None


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # strings of code may hold half a character


def _lines_with(pattern: re.Pattern[str], text: str) -> list[int]:
    return [n for n, line in enumerate(text.split("\n"), start=1) if pattern.search(line)]


def _is_no_flag(text: str) -> bool:
    """Flags of regions are written with tags behind a black flag: those hide nothing."""
    without_flags = re.sub("\U0001f3f4[\U000e0000-\U000e007f]+", "", text)
    return bool(_TAGS.search(without_flags))
