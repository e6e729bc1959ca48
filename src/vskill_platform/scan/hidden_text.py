"""Characters that a reader does not see but a model does, and a view of the text without them."""

import re
import unicodedata

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
_MIXED = re.compile(f"[A-Za-z_]{_CYRILLIC}|{_CYRILLIC}[A-Za-z_]")
_ANSI = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_ANY = re.compile(f"{_TAGS.pattern}|{_BIDI.pattern}|{_INVISIBLE.pattern}|{_ANSI.pattern}")


def visible(text: str) -> str:
    """Return the text as it acts: without hidden characters, look-alike forms made plain.

    Lines stay lines, so what is found in this view has its place in the other.
    """
    if text.isascii() and "\x1b" not in text:
        return text
    clean = _ANY.sub("", text)
    if clean.isascii():
        return clean
    return "\n".join(unicodedata.normalize("NFKC", line) for line in clean.split("\n"))


def hidden_message(text: str) -> str | None:
    """Return what is written in Unicode tag characters, if anything is."""
    found = "".join(_TAGS.findall(text))
    spoken = "".join(chr(ord(char) - 0xE0000) for char in found)
    spoken = "".join(char for char in spoken if char.isprintable())
    return spoken if len(spoken) >= _MIN_MESSAGE and _is_no_flag(text) else None


def bidi_lines(text: str) -> list[int]:
    """Return the lines with characters that change the order in which text is shown."""
    return _lines_with(_BIDI, text)


def invisible_in_words(text: str) -> list[int]:
    """Return the lines where a word is cut by a character that nobody sees."""
    pattern = re.compile(f"[A-Za-z](?:{_INVISIBLE.pattern})+[A-Za-z]")
    return _lines_with(pattern, text)


def mixed_words(text: str) -> list[int]:
    """Return the lines where letters of two scripts that look alike make one word."""
    return _lines_with(_MIXED, text)


def _lines_with(pattern: re.Pattern[str], text: str) -> list[int]:
    if text.isascii():
        return []
    return [n for n, line in enumerate(text.split("\n"), start=1) if pattern.search(line)]


def _is_no_flag(text: str) -> bool:
    """Flags of regions are written with tags behind a black flag: those hide nothing."""
    without_flags = re.sub("\U0001f3f4[\U000e0000-\U000e007f]+", "", text)
    return bool(_TAGS.search(without_flags))
