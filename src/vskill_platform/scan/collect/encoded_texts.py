"""Decode hidden instructions (base64, hex, ROT13, …) and scan them as plain text.

An agent that is told to decode something and act on it obeys the plain text. So base64, hex,
percent escapes and lists of character codes are decoded wherever they are long enough. ROT13 and
reversed lines are decoded only where the text mentions them, because any text can be read that way.
"""

import codecs
import re
from collections.abc import Iterator
from itertools import islice

import msgspec
import re2

from vskill_platform.scan.collect.commands_in_comments import mentioned_commands
from vskill_platform.scan.collect.locate_facts import Fragments, locate
from vskill_platform.scan.facts.decode_text import MAX_BYTES, decode_literal, encoded_runs
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, shorten
from vskill_platform.scan.facts.hidden_text import visible, without_escapes
from vskill_platform.scan.facts.pattern_set import lines_with
from vskill_platform.scan.languages.dispatch import read_shell
from vskill_platform.scan.prose.paragraphs import Paragraphs
from vskill_platform.scan.prose.read_prose import read_prose
from vskill_platform.scan.read.magic import FileType
from vskill_platform.scan.read.skill_files import ScanFile

_HINT = re2.compile(
    r"(?i)decod|decrypt|decipher|unscramble|rot-?13|backwards|in reverse|reversed|character codes"
    r"|caesar|subtract|convert (?:each|every)|into (?:letters|characters)|reverse the"
    r"|解码|декодир|デコード|dekodier"
)
#: The same words after removing marks that may split them, even across a line end.
_BARE_HINT = re2.compile(
    _HINT.pattern.replace("in reverse", r"in[\s|>]+reverse").replace(
        "character codes", r"character[\s|>]+codes"
    )
)
_MARKS = b"*`~=_\\"
#: Other invisible parts inside words: tags, comments, footnotes, links.
_UNSHOWN = r"(?:<[^<>]*>|<!--|\[\^|\[[^\[\]]*\][(\[]|\]\([^)]*\)(?:\s*\))?|\]\[[^\[\]]*\])+"
_CUT_WORD = re2.compile(
    rf"(?i)[\pL\pN-]{_UNSHOWN}[\pL\pN\[\]-]|<!--|&(?:#|[a-z]{{2,31}};|lt|gt|amp)"
    rf"|\b(?:in|character)[\s|>]*{_UNSHOWN}[\s|>]*(?:r|c|\[|<)"
)
_BARE_HINT_OR_CUT = re2.compile(f"{_BARE_HINT.pattern}|{_CUT_WORD.pattern}")
_ROT13 = re2.compile(r"(?i)rot-?13|caesar|\bcipher")
_REVERSED = re2.compile(r"(?i)backwards|in reverse|reversed|reverse the")
#: A list of numbers long enough to be words.
_MANY_NUMBERS = re2.compile(r"(?:\d{2,6}[,;\s#*>]{1,12}){11}\d{2}")
#: Bytes as pairs of hex digits, at least one of which contains a letter.
_MANY_PAIRS = re2.compile(r"(?i)(?:[0-9a-f]{2}[ :,-]{1,2}){11}[0-9a-f]{2}")
_PAIRS = re.compile(r"(?i)\b[0-9a-f]{2}(?:[ :,-]{1,2}[0-9a-f]{2}){11,}\b")
_NUMBERS = re.compile(r"\d{2,6}(?:[,;\s#*>]{1,12}\d{2,6}){11,}")
#: A line that is only the beginning or middle of a long text.
_RUN_LINE = re2.compile(r"(?m)^[ \t>#*]*[A-Za-z0-9+/%]{20,}={0,2}[.,;]?[ \t]*\r?$")
_LINE_END = re.compile(r"([A-Za-z0-9+/%])[ \t]*\r?\n[ \t>#*]*(?=[A-Za-z0-9+/%]{4})")
_LINE_MARK = re.compile(r"^[ \t>#*/;-]+")
#: Two letters of a word are enough; with more, a text without spaces would be searched from each
#: letter.
_WORDS = re.compile(r"[^\W\d_]{2}[\s,.:]+[^\W\d_]{2}")
#: Commands do not need two consecutive words.
_COMMAND = re.compile(r"[a-z]{2} -[\w-]|https?://\w|\| ?(?:ba|z|da)?sh\b|/dev/tcp/|[a-z]{2} [~$/]")
_MAX_RUNS = 200
#: How many lines below the mention of an encoding are searched for the encoded text.
_REACH = 6
_MAX_LINES = 60
_MAX_CODE = 0x10FFFF


def encoded_facts(files: list[ScanFile]) -> list[LocatedFact]:
    return [
        located
        for file in files
        if file.kind is FileType.TEXT
        for located in locate(_facts(file.text[:MAX_BYTES]), file)
    ]


def _facts(text: str) -> Iterator[Fact]:
    raw = text.encode(errors="replace")
    coded = [*_runs(text, raw), *_numbers(text, raw)]
    is_told = _HINT.search(raw) is not None
    if not is_told and any(plain is None for _, _, plain in coded):
        # Marks and letters of other scripts may hide the words from a search of the raw text.
        is_told = _is_in_plain_words(visible(text))
    if is_told:
        coded += islice(_lines(text, raw), _MAX_LINES)
    for start, shown, plain in coded:
        line = text.count("\n", 0, start) + 1
        if plain and _is_readable(plain):
            yield from _read(plain, line)
        elif is_told and plain is None:
            yield Fact(act=Act.ENCODED, line=line, text=shorten(shown))


def _is_readable(plain: str) -> bool:
    return _WORDS.search(plain) is not None or _COMMAND.search(plain) is not None


def _is_in_plain_words(text: str) -> bool:
    """Search the text as a reader sees it; slow, and rarely needed."""
    bare = text.encode(errors="replace").translate(None, _MARKS)
    return (
        _BARE_HINT_OR_CUT.search(bare) is not None
        and _HINT.search(Paragraphs(text, 1).plain.text) is not None
    )


#: The position of an encoded text, the text itself, and the decoded text if there is one.
_Coded = tuple[int, str, str | None]


def _runs(text: str, raw: bytes) -> Iterator[_Coded]:
    whole = _LINE_END.sub(r"\1", text) if _RUN_LINE.search(raw) else text
    for start, end in islice(encoded_runs(whole), _MAX_RUNS):
        coded = whole[start:end]
        yield max(text.find(coded[:24]), 0), coded, decode_literal(coded)


def _numbers(text: str, raw: bytes) -> Iterator[_Coded]:
    if _MANY_NUMBERS.search(raw):
        for found in islice(_NUMBERS.finditer(text), _MAX_RUNS):
            plain = _characters(found[0])
            yield found.start(), found[0], plain if plain and _is_readable(plain) else None
    if _MANY_PAIRS.search(raw):
        for found in islice(_PAIRS.finditer(text), _MAX_RUNS):
            pairs = bytes.fromhex("".join(re.findall(r"[0-9a-fA-F]{2}", found[0])))
            if pairs.isascii() and pairs.decode("ascii").isprintable():
                yield found.start(), found[0], pairs.decode("ascii")


def _lines(text: str, raw: bytes) -> Iterator[_Coded]:
    """Read the lines at and below a mention of ROT13 or of reading backwards."""
    if not (_ROT13.search(raw) or _REVERSED.search(raw)):
        return
    speak_of_rot13 = {number for number, _ in lines_with(_ROT13, text)}
    speak_of_reversal = {number for number, _ in lines_with(_REVERSED, text)}
    lines = text.split("\n")
    if "\\" in text:  # escaped line ends and quotes of settings
        lines = [without_escapes(line) for line in lines]
    if "''" in text:  # an apostrophe in YAML
        lines = [line.replace("''", "'") for line in lines]
    start, rotated, reversed_ = 0, 0, 0
    for number, line in enumerate(lines, start=1):
        rotated = _REACH if number in speak_of_rot13 else rotated - 1
        reversed_ = _REACH if number in speak_of_reversal else reversed_ - 1
        if rotated > 0:
            yield start, line, codecs.decode(line, "rot13")
        if reversed_ > 0:
            yield start, line, line[::-1]
        if max(rotated, reversed_) == _REACH:  # it may be wrapped
            whole = " ".join(
                _LINE_MARK.sub("", one) for one in lines[number - 1 : number - 1 + _REACH]
            )
            yield start, line, codecs.decode(whole, "rot13") if rotated == _REACH else whole[::-1]
        start += len(line) + 1


def _characters(numbers: str) -> str | None:
    codes = [int(number) for number in re.findall(r"\d+", numbers)]
    if max(codes) > _MAX_CODE:
        return None
    text = "".join(map(chr, codes))
    printable = sum(char.isprintable() or char in "\r\n\t" for char in text)
    return text if printable == len(text) else None


def _read(plain: str, line: int) -> Iterator[Fact]:
    """Return what the decoded text says and does, at the line of the encoded text."""
    words = Paragraphs(plain, 1)
    facts = [
        *read_prose(words),
        *mentioned_commands(words, is_obeyed=True),
        *Fragments().read(read_shell, plain),
    ]
    for fact in facts:
        yield msgspec.structs.replace(fact, line=line)
