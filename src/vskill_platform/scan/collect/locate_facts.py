"""Attach file and role to facts, and limit how much code of one text is read."""

from collections.abc import Iterable

import msgspec

from vskill_platform.scan.facts.decode_text import find_encoded
from vskill_platform.scan.facts.facts import Act, Fact, LocatedFact, PartRole, shorten
from vskill_platform.scan.languages.dispatch import Reader
from vskill_platform.scan.languages.unparsed import Unparsed
from vskill_platform.scan.read.skill_files import ScanFile

#: The limit on fragments, each of which costs time; even a book has fewer.
_MAX_FRAGMENTS = 4_000


class Fragments:
    """The code fragments of one text, up to a limit; exceeding it is reported."""

    def __init__(self) -> None:
        self._left = _MAX_FRAGMENTS
        self._is_cut = False

    def read(self, reader: Reader, code: str) -> list[Fact]:
        """Read a fragment; skip it if it is not code, whatever the label of its fence."""
        self._left -= 1
        if self._left < 0:
            self._is_cut = True
            return []
        try:
            return reader(code)
        except Unparsed as error:
            self._is_cut |= error.is_too_much
            return error.facts

    def unread(self) -> list[Fact]:
        text = "more code in one text than can be analysed"
        return [Fact(act=Act.OPAQUE, line=1, text=text, detail="unparsed")] if self._is_cut else []


def encoded_in(text: str, line: int) -> list[Fact]:
    return [
        Fact(
            act=Act.HIDE,
            line=line + text.count("\n", 0, start),
            text=shorten(plain),
            detail="encoded",
        )
        for start, plain in find_encoded(text)
    ]


def locate(
    facts: Iterable[Fact], file: ScanFile, role: PartRole | None = None, *, shift: int = 0
) -> list[LocatedFact]:
    """Attach file and role to facts; *shift* is the number of lines before them in the file."""
    if shift:
        facts = [msgspec.structs.replace(fact, line=fact.line + shift) for fact in facts]
    return [
        LocatedFact(fact=fact, path=file.path, role=_lower_role(fact, role or file.role))
        for fact in facts
    ]


def role_of_words(file: ScanFile) -> PartRole:
    """Return the role of words inside code, which an agent reads but need not follow."""
    if file.is_obeyed:
        return PartRole.INSTRUCTION
    return PartRole.REFERENCE if file.role in {PartRole.INSTRUCTION, PartRole.SCRIPT} else file.role


def _lower_role(fact: Fact, role: PartRole) -> PartRole:
    """Count mentioned words as quoted."""
    return PartRole.QUOTED if fact.is_mention and role is not PartRole.SAMPLE else role
