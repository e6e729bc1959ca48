"""Normalise obfuscated spellings: separated or replaced letters, one word per list item.

A model reads "1gn0r3", "i.g.n.o.r.e", "i g n o r e" and a list with one word per item as easily as
plain words. Such a text is read a second time in plain spelling, with the same lines.
"""

import re
from collections.abc import Iterator
from itertools import groupby

import re2

from vskill_platform.scan.facts.pattern_set import lines_with, loosened
from vskill_platform.scan.prose.labelled_rows import labelled_rows
from vskill_platform.scan.prose.named_addresses import with_named_addresses

#: Symbols between letters, one or a few at a time.
_SYMBOL = "[\u2010-\u2bff\u3000-\u303f\ufe0e\ufe0f\U0001f000-\U0001faff]"
_WITH_SYMBOLS = re.compile(f"[A-Za-z](?:{_SYMBOL}{{1,3}}[A-Za-z]){{2,60}}")
_MARKED = re.compile(f"(?<=[A-Za-z]){_SYMBOL}{{1,3}}(?=[A-Za-z])")
_APART = re.compile(
    r"(?<![A-Za-z0-9._-])[A-Za-z](?P<sign>[.\-_*·•~|])[A-Za-z](?:(?P=sign)[A-Za-z]){1,60}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])[A-Za-z](?: [A-Za-z]){3,60}(?![A-Za-z0-9])"
)
#: In a line with such words, words of two letters are spelled in the same way.
_APART_SHORT = re.compile(
    r"(?<![A-Za-z0-9._-])[A-Za-z](?P<sign>[.\-_*·•~|])[A-Za-z](?:(?P=sign)[A-Za-z]){0,60}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])[A-Za-z](?: [A-Za-z]){1,60}(?![A-Za-z0-9])"
)
#: All characters of several words are apart, and the words farther.
_ALL_APART = re.compile(r"(?<!\S)\S(?: \S){2,60} {2,9}\S(?: \S){2,60}(?!\S)")
_EACH_APART, _WIDE = re.compile(r"\S(?: \S)*"), re.compile(r" {2,}")
#: Words whose letters are apart have more than one space between them.
_BLANKS, _BEFORE_MARK = re.compile(r"(?<=\S) {2,}"), re.compile(r" +(?=[;,.:!?](?:\s|$))")
_NOT_LETTER = re.compile(r"[^A-Za-z]")
_BROKEN = re.compile(r"([^\s-]{2,})-\r?\n[ \t>*#/]{0,12}([a-z][^\s]{1,200})")
_DIGITS = "01345789$@"
_LEET_WORD = re.compile(rf"(?<![\w./:@$-])[A-Za-z{_DIGITS}!]{{2,30}}(?![\w/@$-]|:/)")
#: A digit between the letters of a word, or at its start or end.
_IS_LEET = re.compile(
    rf"[a-zA-Z][{_DIGITS}]+[a-zA-Z]|^[{_DIGITS}][a-zA-Z]{{2,}}|[a-zA-Z]{{2,}}[{_DIGITS}]$"
)
#: A digit may stand for two letters.
_LETTERS = (str.maketrans(_DIGITS, "oieastbgsa"), str.maketrans(_DIGITS, "oleastbgsa"))
_MIN_LEET = 3
#: Patterns that quickly decide whether a text may contain such a spelling.
_MAY_HAVE_SYMBOLS = re2.compile(f"[A-Za-z]{_SYMBOL}{{1,3}}[A-Za-z]{_SYMBOL}{{1,3}}[A-Za-z]")
_MAY_BE_APART = re2.compile(r"(?:\b[A-Za-z][.\-_*·•~| ]){3}[A-Za-z]\b")
_MAY_BE_BROKEN = re2.compile(r"[a-z]-\r?\n")
_MAY_BE_LEET = re2.compile(
    rf"(?:[A-Za-z][{_DIGITS}]+[A-Za-z]\S*[ \t]+(?:\S+[ \t]+){{0,4}}){{2}}"
    rf"\S*[A-Za-z][{_DIGITS}]+[A-Za-z]"
)
_MAY_BE_APART_OR_LEET = re2.compile(f"{_MAY_BE_APART.pattern}|{_MAY_BE_LEET.pattern}")
_MAY_BE_IN_PIECES = re2.compile(
    r"(?i)\b(?:join|concatenat|combin|together|assembl|glu(?:e|ing)|merg(?:e|ing)|as one)"
)
#: Stands for omitted blocks, so that no sentence continues across them. It contains links, because
#: a text with several links is also read without their addresses.
_GAP = "[.](.) [.](.)"
#: List items, table rows and headings.
_MARK = r"(?:[-*+•][ \t]+|\(?\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)"
_ITEM = re.compile(rf"^[ \t>]*(?:{_MARK}|\|)(.*)$")
#: Consecutive rows of tables, and items of a few words. Words are counted, because the engine takes
#: ten times as long to count the characters.
_RUN = re2.compile(
    rf"(?m)(?:^[ \t>]*(?:{_MARK}[^\n][^\n ]*(?: [^\n ]*){{0,6}} *|\|[^\n]+)"
    r"(?:\n(?:[ \t]*\n)?|\z)){3,}"
)
_RULE = re.compile(r"^[ \t|:-]*$")
_RULE_STARTS = frozenset(" \t|:-")
_LABEL = re.compile(r"^(?:\d{1,3}|step|text|no|nr|#)$", re.IGNORECASE)
_LABEL_LENGTH = 4
_MAX_ITEM, _MAX_WORDS, _MIN_ITEMS = 80, 6, 3
#: A text in pieces that its reader is to join.
_PIECES = re.compile(
    r"(?:[\"“'`][^\"“”'`\n]{1,40}[\"”'`][ \t]{0,3}(?:[,+|;&]|\.\.)?[ \t]{0,3}){4,400}"
)
_ANY_PIECES = re2.compile(loosened(_PIECES.pattern.replace("{4,400}", "{4}")))
_PIECE = re.compile(r"[\"“'`]([^\"“”'`\n]{1,40})[\"”'`]")
_GLUE = re.compile(
    r"\b(?:join|concatenat\w+|combin\w+|put(?:ting)? (?:\w+ ){0,3}together|assembl\w+"
    r"|glu(?:e|ing)|merg(?:e|ing)"
    r"|string (?:\w+ ){0,3}together|read (?:\w+ ){0,3}(?:together|as one))\b",
    re.IGNORECASE,
)
#: The items of an ordinary list are usually longer.
_MAX_AVERAGE = 5
#: The average number of words; with fewer, a capital letter does not make an item a sentence.
_MIN_SENTENCE = 2.5
_CAPITAL = re.compile(r"[^A-Za-z]{0,3}[A-Z][A-Za-z]")


def other_spellings(text: str) -> Iterator[str]:
    """Yield the parts of a text that are obfuscated, in plain spelling; lines stay lines."""
    raw = text.encode(errors="replace")
    plain = text
    has_symbols = not text.isascii() and _MAY_HAVE_SYMBOLS.search(raw)
    may_be_spelled = _MAY_BE_APART_OR_LEET.search(raw) is not None
    if has_symbols or (may_be_spelled and _MAY_BE_APART.search(raw)):
        plain = _joined_letters(plain)
    if (b"-\n" in raw or b"-\r\n" in raw) and _MAY_BE_BROKEN.search(raw):
        plain = _BROKEN.sub(_unbroken, plain)
    spelled = [plain]
    if may_be_spelled and _MAY_BE_LEET.search(raw):
        spelled = [_without_leet(plain, letters) for letters in _LETTERS]
    for other in dict.fromkeys(spelled):
        if other != text:
            yield _changed_blocks(text, other)
    if (named := with_named_addresses(text)) != text:
        yield _changed_blocks(text, named)
    if joined := _joined_items(raw):
        yield joined
    if rows := labelled_rows(text):
        yield rows
    if _MAY_BE_IN_PIECES.search(raw) and (whole := _joined_pieces(text)):
        yield whole


def _joined_pieces(text: str) -> str:
    """Return the texts that a line gives in pieces, if it tells its reader to join them."""
    whole = text.split("\n")
    lines = [""] * len(whole)
    for number, line in lines_with(_ANY_PIECES, text):
        before = next((one for one in reversed(whole[: number - 1]) if one), "")
        if (found := _PIECES.search(line)) and _GLUE.search(f"{before} {line}"):
            lines[number - 1] = "".join(_PIECE.findall(found[0]))
    return "\n".join(lines) if any(lines) else ""


def _changed_blocks(text: str, plain: str) -> str:
    """Return the blocks of lines that are spelled differently, each with its neighbours.

    The rest was already read. Technical texts contain a few words such as `l2fwd`, and otherwise
    such a text would be read completely again for each spelling.
    """
    before, lines = text.split("\n"), plain.split("\n")
    filled = groupby(range(len(lines)), lambda number: not lines[number].strip())
    blocks = [list(numbers) for is_empty, numbers in filled if not is_empty]
    changed = [any(lines[number] != before[number] for number in block) for block in blocks]
    for place, block in enumerate(blocks):
        if not any(changed[max(place - 1, 0) : place + 2]):
            lines[block[0] : block[-1] + 1] = [_GAP, *[""] * (len(block) - 1)]
    return "\n".join(lines)


def _joined_letters(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        is_marked = not line.isascii() and _WITH_SYMBOLS.search(line)
        bare = _MARKED.sub("", line) if is_marked else line
        if _ALL_APART.search(bare):
            lines[number] = " ".join(map(_closed, _WIDE.split(bare)))
        elif is_marked or _APART.search(bare):
            joined = _APART_SHORT.sub(lambda found: _NOT_LETTER.sub("", found[0]), bare)
            lines[number] = _BLANKS.sub(" ", _BEFORE_MARK.sub("", joined))
    return "\n".join(lines)


def _closed(word: str) -> str:
    """Return a word whose characters are apart without the spaces between them."""
    return word.replace(" ", "") if _EACH_APART.fullmatch(word) else word


def _unbroken(found: re.Match[str]) -> str:
    """Join a word that is split at the end of a line; a URL keeps its hyphen."""
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


def _joined_items(raw: bytes) -> str:
    """Join the words of consecutive short items on the line of the first one."""
    joined: dict[int, str] = {}
    at, number = 0, 0
    for found in _RUN.finditer(raw):
        number += raw.count(b"\n", at, found.start())
        at = found.start()
        joined |= _sentences(found[0].decode().split("\n"), number)
    if not joined:
        return ""
    lines = [""] * (max(joined) + 1)
    for line, words in joined.items():
        lines[line] = words
    return "\n".join(lines)


def _sentences(lines: list[str], first: int) -> dict[int, str]:
    """Return the words of each run of short items, by its first line."""
    found: dict[int, str] = {}
    run: list[tuple[int, str]] = []
    for number, line in enumerate([*lines, "."], first):
        if not line or (run and line[0] in _RULE_STARTS and _RULE.match(line)) or line.isspace():
            continue
        item = _ITEM.match(line)
        is_short = item is not None and len(item[1]) <= _MAX_ITEM
        words = _words_of(item[1]) if item and is_short else ""
        if is_short and words.count(" ") < _MAX_WORDS:
            run.append((number, words))
            continue
        sentence = _sentence([words for _, words in run if words])
        if len(run) >= _MIN_ITEMS and sentence.count(" ") < _MAX_AVERAGE * len(run):
            found[run[0][0]] = sentence
        run = []
    return found


def _sentence(items: list[str]) -> str:
    """Join items; those of an ordinary list start with a capital letter and are sentences."""
    words = sum(item.count(" ") + 1 for item in items)
    is_genuine = words >= _MIN_SENTENCE * len(items) and all(map(_CAPITAL.match, items))
    return (". " if is_genuine else " ").join(items)


def _words_of(item: str) -> str:
    if "|" not in item:
        words = item.strip()
        return "" if _is_label(words) else words
    cells = [cell.strip() for cell in item.split("|")]
    return " ".join(cell for cell in cells if cell and not _is_label(cell))


def _is_label(words: str) -> bool:
    return len(words) <= _LABEL_LENGTH and _LABEL.match(words) is not None
