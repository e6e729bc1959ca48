"""Words that are kept encoded: decoded where that can be done, and read as if they stood there.

An agent that is told to decode something and to act on it obeys the plain text. So base64, hex,
percent signs and lists of character codes are decoded wherever they are long enough; ROT13 and
reversed lines only where the text speaks of them, for every text can be read that way.
"""

import codecs
import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from vskill_platform.scan.collect import Fragments, Placed, place
from vskill_platform.scan.decode import MAX_BYTES, decode_literal, encoded_runs
from vskill_platform.scan.facts import Act, Fact, shorten
from vskill_platform.scan.languages.shell.read_shell import read_shell
from vskill_platform.scan.magic import FileType
from vskill_platform.scan.paragraphs import Paragraphs
from vskill_platform.scan.prose import read_prose
from vskill_platform.scan.skill_files import ScanFile

_HINT = re.compile(
    r"decod|decrypt|decipher|unscramble|rot-?13|base ?(?:16|32|64|85)|backwards|revers|"
    r"character codes?|caesar|\bhex\b|解码|декодир|デコード|dekodier",
    re.IGNORECASE,
)
_ROT13 = re.compile(r"rot-?13|caesar|cipher", re.IGNORECASE)
_REVERSED = re.compile(r"backwards|revers", re.IGNORECASE)
_NUMBERS = re.compile(r"(?:\b\d{2,6}\b[,;\s]+){11,}\d{2,6}\b")
#: A long run that goes on in the next line.
_BROKEN_RUN = re.compile(r"(?<=[A-Za-z0-9+/]{32})\r?\n[ \t>]*(?=[A-Za-z0-9+/]{4,})")
_WORDS = re.compile(r"[^\W\d_]{2,}[\s,.:]+[^\W\d_]{2,}")
_MAX_RUNS = 200
_MAX_LINES = 400
_MAX_CODE = 0x10FFFF


def encoded_facts(files: list[ScanFile]) -> list[Placed]:
    return [
        placed
        for file in files
        if file.kind is FileType.TEXT
        for placed in place(_facts(file.text[:MAX_BYTES]), file)
    ]


def _facts(text: str) -> Iterator[Fact]:
    is_told = _HINT.search(text) is not None
    for start, coded, plain in _decoded(text, is_told=is_told):
        line = text.count("\n", 0, start) + 1
        if plain and _WORDS.search(plain):
            yield from _read(plain, line)
        elif is_told and plain is None:
            yield Fact(act=Act.ENCODED, line=line, text=shorten(coded))


def _decoded(text: str, *, is_told: bool) -> Iterator[tuple[int, str, str | None]]:
    """Yield where something encoded stands, the thing itself, and its plain text if any."""
    whole = _BROKEN_RUN.sub("", text)
    for start, end in islice(encoded_runs(whole), _MAX_RUNS):
        coded = whole[start:end]
        yield max(text.find(coded[:24]), 0), coded, decode_literal(coded)
    for found in _NUMBERS.finditer(text):
        yield found.start(), found[0], _characters(found[0])
    if not is_told:
        return
    start = 0
    for line in text.split("\n")[:_MAX_LINES]:
        if _ROT13.search(text):
            yield start, line, codecs.decode(line, "rot13")
        if _REVERSED.search(text):
            yield start, line, line[::-1]
        start += len(line) + 1


def _characters(numbers: str) -> str | None:
    codes = [int(number) for number in re.findall(r"\d+", numbers)]
    if max(codes) > _MAX_CODE:
        return None
    text = "".join(map(chr, codes))
    printable = sum(char.isprintable() or char in "\r\n\t" for char in text)
    return text if printable == len(text) else None


def _read(plain: str, line: int) -> Iterator[Fact]:
    """Return what the plain text says and does, all of it where it stands encoded."""
    facts = [*read_prose(Paragraphs(plain, 1)), *Fragments().read(read_shell, plain)]
    for fact in facts:
        yield msgspec.structs.replace(fact, line=line)
