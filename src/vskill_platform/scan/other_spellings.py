"""Other ways to write the same words: letters kept apart or replaced, words one to an item.

A model reads "1gn0r3", "i.g.n.o.r.e", "i g n o r e" and a list with one word in each item as easily
as the words themselves. Such a text is read a second time in plain spelling, on the same lines.
"""

import re
from collections.abc import Iterator

import re2

#: Symbols that stand between letters, by themselves or a few at once.
_SYMBOL = "[\u2010-\u2bff\u3000-\u303f\ufe0e\ufe0f\U0001f000-\U0001faff]"
_WITH_SYMBOLS = re.compile(f"[A-Za-z](?:{_SYMBOL}{{1,3}}[A-Za-z]){{2,60}}")
_MARKED = re.compile(f"(?<=[A-Za-z]){_SYMBOL}{{1,3}}(?=[A-Za-z])")
_APART = re.compile(
    r"(?<![A-Za-z0-9._-])[A-Za-z](?P<sign>[.\-_*·•~|])[A-Za-z](?:(?P=sign)[A-Za-z]){1,60}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])[A-Za-z](?: [A-Za-z]){3,60}(?![A-Za-z0-9])"
)
#: In a line with such words, those of two letters are written in the same way.
_APART_SHORT = re.compile(
    r"(?<![A-Za-z0-9._-])[A-Za-z](?P<sign>[.\-_*·•~|])[A-Za-z](?:(?P=sign)[A-Za-z]){0,60}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])[A-Za-z](?: [A-Za-z]){1,60}(?![A-Za-z0-9])"
)
_NOT_LETTER = re.compile(r"[^A-Za-z]")
_BROKEN = re.compile(r"([^\s-]{2,})-\r?\n[ \t>*#/]{0,12}([a-z][^\s]{1,200})")
_DIGITS = "01345789$@"
_LEET_WORD = re.compile(rf"(?<![\w./:@$-])[A-Za-z{_DIGITS}!]{{2,30}}(?![\w/@$-]|:/)")
#: A digit between letters of a word, or at its edge.
_IS_LEET = re.compile(
    rf"[a-zA-Z][{_DIGITS}]+[a-zA-Z]|^[{_DIGITS}][a-zA-Z]{{2,}}|[a-zA-Z]{{2,}}[{_DIGITS}]$"
)
#: A digit may stand for two letters.
_LETTERS = (str.maketrans(_DIGITS, "oieastbgsa"), str.maketrans(_DIGITS, "oleastbgsa"))
_MIN_LEET = 3
_MAY = re2.compile(
    rf"[A-Za-z]{_SYMBOL}{{1,3}}[A-Za-z]|(?:\b[A-Za-z][.\-_*·•~| ]){{3}}[A-Za-z]\b"
    rf"|[a-z]-\r?\n|[A-Za-z][{_DIGITS.replace('$', '')}$][A-Za-z]"
)
#: Items of a list, rows of a table and headings.
_ITEM = re.compile(r"^[ \t>]*(?:[-*+•][ \t]+|\(?\d{1,3}[.)][ \t]+|#{1,6}[ \t]+|\|)(.*)$")
_RULE = re.compile(r"^[ \t|:-]*$")
_LABEL = re.compile(r"^(?:\d{1,3}|step|text|no|nr|#)$", re.IGNORECASE)
_MAX_WORDS, _MIN_ITEMS = 6, 3


def other_spellings(text: str) -> Iterator[str]:
    """Yield the text in plain spelling where it is written in another; lines stay lines."""
    if _MAY.search(text.encode(errors="replace")):
        plain = _joined_letters(text)
        for letters in _LETTERS:
            spelled = _without_leet(plain, letters)
            if spelled != text:
                yield spelled
            if spelled == plain:
                break
    if joined := _joined_items(text):
        yield joined


def _joined_letters(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        is_marked = not line.isascii() and _WITH_SYMBOLS.search(line)
        if is_marked:
            line = _MARKED.sub("", line)  # noqa: PLW2901 - the next step goes on with it
        if is_marked or _APART.search(line):
            lines[number] = _APART_SHORT.sub(lambda found: _NOT_LETTER.sub("", found[0]), line)
    text = "\n".join(lines)
    return _BROKEN.sub(_unbroken, text) if "-\n" in text or "-\r" in text else text


def _unbroken(found: re.Match[str]) -> str:
    """Join a word that is cut at the end of a line; an address keeps its hyphen."""
    before, after = found.groups()
    hyphen = "-" if "/" in before or "." in before else ""
    return f"{before}{hyphen}{after}\n"


def _without_leet(text: str, letters: dict[int, int]) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        words = _LEET_WORD.findall(line)
        if sum(_IS_LEET.search(word) is not None for word in words) >= _MIN_LEET:
            lines[number] = _LEET_WORD.sub(lambda found: _spell(found[0], letters), line)
    return "\n".join(lines)


def _spell(word: str, letters: dict[int, int]) -> str:
    return word if word.isdecimal() else word.translate(letters)


def _joined_items(text: str) -> str:
    """Put the words of many short items in a row on the line of the first one."""
    lines = text.split("\n")
    joined = [""] * len(lines)
    has_any = False
    run: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, "."]):
        if not line or line.isspace() or (run and _RULE.match(line)):
            continue
        item = _ITEM.match(line) if number < len(lines) else None
        words = _words_of(item[1]) if item else ""
        if item and words.count(" ") < _MAX_WORDS:
            run.append((number, words))
            continue
        if len(run) >= _MIN_ITEMS:
            joined[run[0][0]] = " ".join(words for _, words in run if words)
            has_any = True
        run = []
    return "\n".join(joined) if has_any else ""


def _words_of(item: str) -> str:
    cells = [cell.strip() for cell in item.split("|")]
    return " ".join(cell for cell in cells if cell and not _LABEL.match(cell))
