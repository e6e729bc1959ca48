"""Find characters that a model reads but a person does not see, and remove them from texts."""

import re
import string
import unicodedata
from functools import lru_cache

import re2

from vskill_platform.model.lookalike import CONFUSABLES

#: Fewer hidden letters than this are no message.
_MIN_MESSAGE = 4
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
#: The flags of England, Scotland and Wales: a black flag and tags. Any other tags after it are
#: invisible.
_REGIONAL_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u2065"
    "\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
)
#: Joiners are part of emoji and several scripts, so they only count as hidden between Latin
#: letters.
_JOINERS = "\u200c\u200d\ufffd"
#: Cyrillic letters inside Latin words, which no language has.
_CYRILLIC = "[\u0430-\u044f\u0455\u0456\u0458]"
_MIXED = re.compile(f"[A-Za-z]{_CYRILLIC}|{_CYRILLIC}[A-Za-z]")
#: Letters of other scripts that look like Latin ones, and the Latin ones.
_DRAWN_ALIKE: dict[int, str | int] = {
    **CONFUSABLES,
    **str.maketrans(
        "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405"
        "\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u0396\u03a5",
        "ABEKMHOPCTXIJSABEHIKMNOPTXZY",
    ),
}
#: Greek, Cyrillic, Armenian, Cherokee, and Latin letters that look like others.
_FOREIGN = "[\u0251\u0261\u0131\u0184\u01c0\u0370-\u058f\u13a0-\u13f5\u1d00-\u1d2b\ua731]"
_ALIKE = "".join(chr(code) for code in _DRAWN_ALIKE)
#: A word in which all letters look like Latin ones.
_ALIKE_WORD = re.compile(rf"(?<!\w)[{_ALIKE}]{{2,60}}(?!\w)")
_LATIN = string.ascii_letters.encode()
#: Marks above, below or through a Latin letter.
_STACKED = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]+")
_STACKED_TRACE = re2.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff]")
_MIXED_WORD = re.compile(
    rf"\b(?:[A-Za-z0-9_]\w{{0,60}}{_FOREIGN}|{_FOREIGN}\w{{0,60}}[A-Za-z_])\w{{0,60}}"
)
_FOREIGN_LETTER = re.compile(_FOREIGN)
#: Removed characters: tags, direction marks, invisible characters, and terminal colours. The
#: pattern starts with one character class, which is searched five times faster than an alternation.
_HIDING = f"\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069{_UNSEEN}"
_ANY = re.compile(f"[\x1b{_HIDING}](?:(?<=[{_HIDING}])|(?<=\x1b)\\[[0-9;]*[A-Za-z])")
#: Removed after the others, so that joiners around one of those are also removed.
_JOINED_LETTERS = re.compile(f"[{_JOINERS}](?<=[A-Za-z][{_JOINERS}])[{_JOINERS}]*(?=[A-Za-z])")
#: Matches wherever the pattern below may match, in a fraction of the time. Most texts contain
#: invisible characters only in emoji.
_MAY_CUT = re2.compile(f"[A-Za-z][{_UNSEEN}{_JOINERS}]")
_CUT_WORD = re.compile(f"[A-Za-z][{_UNSEEN}{_JOINERS}]+[A-Za-z]")
#: Consecutive variation selectors: each encodes a byte of a hidden text.
_SELECTED = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{6,}")
#: Zero-width characters used as the digits of a hidden text.
_WIDTHLESS = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{24,}")
#: Match wherever the patterns above may match, in a fraction of the time.
_MAY_SPELL = re2.compile("|".join(one.pattern for one in (_SELECTED, _WIDTHLESS, _TAGS)))
_MAY_TURN = re2.compile(_BIDI.pattern)
#: Every match of the patterns above contains one of these. A single character class is searched
#: many times faster than an alternation, and most texts have none of them.
_TRACE = re2.compile(
    "[\x1b\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffd\U000e0000-\U000e01ef]"
)
_FOREIGN_TRACE = re2.compile(_FOREIGN)
_STACKED_OR_FOREIGN = re2.compile(f"{_STACKED_TRACE.pattern}|{_FOREIGN}")


#: Escapes of JSON and YAML; control characters stay escaped, so that lines stay lines.
_ESCAPED = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(00[2-9a-fA-F][0-9a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]{2}|[1-9a-ce-fA-CE-F][0-9a-fA-F]{3})"
    r"|\\U(000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4})"
)
_ESCAPED_BLANK = re.compile(r"(?<![\\:])\\[nrt]")
#: The first half of an escaped Unicode tag.
_ESCAPED_TAG = re.compile(r"\\u[dD][bB]40\\u|\\U000[eE]0")

_NAMESPACE = re.compile(r"\bxmlns(?::\w{1,20})?=(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')")


def without_escapes(text: str) -> str:
    """Return the text with escaped letters and line ends decoded, without changing the lines."""
    if "\\u" in text or "\\U" in text:
        text = _ESCAPED.sub(_unescaped, text)
    return _ESCAPED_BLANK.sub(" ", text)


def _unescaped(found: re.Match[str]) -> str:
    high, low, code, long = found.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    value = int(code or long, 16)
    return chr(value) if value >= ord(" ") and not 0xD800 <= value <= 0xDFFF else found[0]  # noqa: PLR2004 - a number of the format


def visible(text: str) -> str:
    """Return the text without hidden characters and with look-alike letters normalised.

    Lines stay lines, so a match in this view is on the same line of the original: nothing is joined
    across a line feed, and nothing becomes a line feed.
    """
    if text.isascii() and "\x1b" not in text:
        return text
    clean = _JOINED_LETTERS.sub("", _ANY.sub("", text)) if _has_trace(text) else text
    if clean.isascii():
        return clean
    plain = unicodedata.normalize("NFKC", clean)
    raw = _encoded(plain)
    if not _STACKED_OR_FOREIGN.search(raw):
        return plain
    if _STACKED_TRACE.search(raw):
        plain = _STACKED.sub("", plain)
    if not _FOREIGN_TRACE.search(raw):
        return plain
    plain = _MIXED_WORD.sub(lambda word: word[0].translate(_DRAWN_ALIKE), plain)
    return "\n".join(map(_with_drawn_words, plain.split("\n")))


def _with_drawn_words(line: str) -> str:
    """Normalise whole words of look-alike letters, if the line is mostly Latin.

    This is decided by line, because a Russian sentence in an English text would lose words.
    """
    if line.isascii() or not _ALIKE_WORD.search(line):
        return line
    raw = _encoded(line)
    latin = len(raw) - len(raw.translate(None, _LATIN))
    if latin <= len(_FOREIGN_LETTER.findall(line)):
        return line
    return _ALIKE_WORD.sub(lambda word: word[0].translate(_DRAWN_ALIKE), line)


def hidden_message(text: str) -> str | None:
    """Return the message written in invisible characters, if there is one."""
    if "\\" in text and _ESCAPED_TAG.search(text):
        text = without_escapes(text)
    if not (_has_trace(text) and _MAY_SPELL.search(_encoded(text))):
        return None
    if selected := _SELECTED.search(text):
        raw = bytes(map(_selector_value, selected[0]))
        return raw.decode("utf-8", errors="replace")
    if _WIDTHLESS.search(text):
        return "a long run of zero-width characters"
    found = "".join(_TAGS.findall(text))
    spoken = "".join(chr(ord(char) - 0xE0000) for char in found)
    spoken = "".join(char for char in spoken if char.isprintable())
    return spoken if len(spoken) >= _MIN_MESSAGE and _is_no_flag(text) else None


def _selector_value(char: str) -> int:
    code = ord(char)
    return code - 0xFE00 if code < 0xFFFF else min(code - 0xE0100 + 16, 255)  # noqa: PLR2004 - a number of the format


def bidi_lines(text: str) -> list[int]:
    """Return the lines with characters that change the order in which text is shown."""
    may_turn = _has_trace(text) and _MAY_TURN.search(_encoded(text))
    return _lines_with(_BIDI, text) if may_turn else []


def invisible_in_words(text: str) -> list[int]:
    """Return the lines where an invisible character splits a word."""
    may_cut = _has_trace(text) and _MAY_CUT.search(_encoded(text))
    return _lines_with(_CUT_WORD, text) if may_cut else []


def mixed_words(text: str) -> list[int]:
    """Return the lines where one word mixes look-alike letters of two scripts."""
    is_foreign = not text.isascii() and _FOREIGN_TRACE.search(_encoded(text))
    return _lines_with(_MIXED, text) if is_foreign else []


@lru_cache(maxsize=64)  # several checks of a file need it
def _has_trace(text: str) -> bool:
    if text.isascii() and "\x1b" not in text:
        return False
    return _TRACE.search(_encoded(text)) is not None


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # strings in code may contain lone surrogates


def _lines_with(pattern: re.Pattern[str], text: str) -> list[int]:
    if not pattern.search(text):  # one search over a whole text is faster than one for each line
        return []
    return [n for n, line in enumerate(text.split("\n"), start=1) if pattern.search(line)]


def _is_no_flag(text: str) -> bool:
    """Return whether tags spell a text, unlike those of a regional flag."""
    return bool(_TAGS.search(_REGIONAL_FLAG.sub("", text)))


def without_namespaces(text: str) -> str:
    """Return a text without XML namespaces, which look like addresses."""
    return _NAMESPACE.sub("", text) if "xmlns" in text else text
