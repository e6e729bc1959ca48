"""Search many patterns in one pass over a text, in linear time.

The engine derives the literal words that each pattern needs, searches for all of them at once and
tries only the patterns whose words occur. So most texts take microseconds, and no list of such
words has to be maintained next to the patterns.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

import re2

#: The engine has no lookaround; a pattern without it matches the same and more.
_LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
#: Bounded repetition makes the engine count, which multiplies the size of its tables. The first
#: group is what only looks like one: an escaped character, or a character class.
_AT_MOST = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{([01]),\d+\}")
#: A letter or digit of any script, and a class with more in it that takes a fifth of the time to
#: compile: the engine's tables of all letters are long.
LETTER = r"[\pL\pN_]"
_LETTER_OR_SIGN = r"[0-9A-Za-z_\x{80}-\x{10FFFF}]"
_NEGATED_CLASS = re.compile(r"\[\^((?:\\.|[^\]\\])*)\]")
#: Parts of a pattern that can match a line end.
_LINE_ENDS = (r"\s", r"\n", r"\W", r"\D", r"\P", "(?s", "(?ims")
#: A piece ends with the first line end after this. Half or four times the size is a tenth slower.
_PIECE_BYTES = 400
#: A longer text gains nothing from being searched with others, and its matches take memory.
_MAX_AHEAD = 50_000

#: A pattern, and the piece of a text that it is to be searched in, with the start of the piece.
_Piece = tuple[int, int, bytes]


def lines_with(pattern: Any, text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line in which a match of a `re2` pattern begins.

    One search over the whole text is many times faster than one per line. A match may continue on
    the next line, so callers that mind must check the line itself.
    """
    raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
    number, next_line = 1, 0
    while next_line < len(raw) and (found := pattern.search(raw, next_line)):
        start = raw.rfind(b"\n", next_line, found.start()) + 1 or next_line
        end = raw.find(b"\n", found.start())
        end = len(raw) if end < 0 else end
        number += raw.count(b"\n", next_line, start)
        yield number, raw[start:end].decode()
        number, next_line = number + 1, end + 1


class PatternSet:
    """Patterns of `re2`, each identified by its position in the given order.

    Each group has its own filter. A filter's automaton caches the words it has met, so with too
    many words it runs out of space and restarts again and again: words in English and in seven
    other languages take a third of the time in two groups.

    The first group is searched in pieces of a few lines. A long text contains the words of most
    patterns somewhere, but seldom close together, so fewer patterns are tried, each on a short
    piece. That halves the time. Patterns that can match across lines are given the whole text.
    """

    def __init__(self, first: Iterable[str], *others: Iterable[str]) -> None:
        self._texts: list[str] = []
        #: Patterns that the filters have compiled, and those needed in addition.
        self._compiled: dict[int, Any] = {}
        numbered = self._numbered(first)
        within = {place: text for place, text in numbered.items() if _is_within_line(text)}
        across = {place: text for place, text in numbered.items() if place not in within}
        self._by_piece = self._filter(within)
        groups = [across, *map(self._numbered, others)]
        self._by_text = [self._filter(group) for group in groups if group]
        #: The matches of all patterns in texts that were searched together.
        self._ahead: dict[str, list[tuple[int, int, int]]] = {}

    def _numbered(self, patterns: Iterable[str]) -> dict[int, str]:
        first = len(self._texts)
        self._texts += patterns
        return dict(enumerate(self._texts[first:], first))

    def _filter(self, patterns: dict[int, str]) -> "_Filter":
        together = _Filter(patterns)
        self._compiled |= together.compiled
        return together

    def possible_in(self, text: str, among: AbstractSet[int]) -> set[int]:
        """Return which of these patterns may match: the text contains the words they need."""
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        filters = (self._by_piece, *self._by_text)
        needed = (one for one in filters if not among.isdisjoint(one.loose))
        return {place for one in needed for place in one.possible(raw)} & among

    def finds(self, text: str, only: AbstractSet[int] | None = None) -> list[tuple[int, int, int]]:
        """Return pattern, start and end of all matches, pattern by pattern.

        Name the patterns in *only* if a few are asked for: each is searched for by itself.
        """
        if only is None and text in self._ahead:
            return self._ahead[text]
        raw = text.encode()
        together = self._search_all([raw])[0] if only is None else self._search(raw, only)
        return self._spans(raw, together)

    @contextmanager
    def searched_ahead(self, texts: Iterable[str]) -> Iterator[None]:
        """Search all short texts of these now, each once; `finds` returns their matches.

        Filter by filter, not text by text: the tables of all filters together are larger than the
        processor's caches, so searching takes a quarter less.
        """
        raws = {text: text.encode() for text in texts if len(text) <= _MAX_AHEAD}
        found = zip(raws.items(), self._search_all(list(raws.values())), strict=True)
        self._ahead = {text: self._spans(raw, together) for (text, raw), together in found}
        try:
            yield
        finally:
            self._ahead = {}

    def _spans(self, raw: bytes, together: Iterable[_Piece]) -> list[tuple[int, int, int]]:
        spans = sorted(
            (place, start + found.start(), start + found.end())
            for place, start, piece in together
            for found in self._pattern(place).finditer(piece)
        )
        # In ASCII text, byte positions are text positions.
        return spans if raw.isascii() else _in_characters(spans, raw)

    def _search_all(self, raws: list[bytes]) -> list[list[_Piece]]:
        """Return, for each text, the patterns that match in loosened form, and where."""
        found = [
            [
                (place, start, piece)
                for start, piece in _pieces(raw)
                for place in self._by_piece.matching(piece)
            ]
            for raw in raws
        ]
        for together in self._by_text:
            for raw, pieces in zip(raws, found, strict=True):
                pieces += [(place, 0, raw) for place in together.matching(raw)]
        return found

    def _search(self, raw: bytes, only: AbstractSet[int]) -> Iterator[_Piece]:
        for together in (self._by_piece, *self._by_text):
            for place in together.loose.keys() & only:
                if together.loose[place].search(raw):
                    pieces = _pieces(raw) if together is self._by_piece else [(0, raw)]
                    yield from ((place, *piece) for piece in pieces)

    def find_between(self, place: int, text: str, start: int, end: int) -> tuple[int, int] | None:
        """Return the first match of one pattern between two positions."""
        found = self._pattern(place).search(text, start, end)
        return found.span() if found else None

    def _pattern(self, place: int) -> Any:
        if place not in self._compiled:  # most match no text and are never needed
            self._compiled[place] = re2.compile(self._texts[place])
        return self._compiled[place]


class _Filter:
    """Searches for the words that the patterns need, for all patterns at once."""

    def __init__(self, patterns: dict[int, str]) -> None:
        self._filter = re2.Filter()
        self._places = list(patterns)
        #: The loosened patterns, and those that are exact at the same time.
        self.loose: dict[int, Any] = {}
        self.compiled: dict[int, Any] = {}
        for place, text in patterns.items():
            loose = loosened(text)
            self.loose[place] = self._filter.re(self._filter.Add(loose))
            if loose == text:
                self.compiled[place] = self.loose[place]
        if patterns:
            self._filter.Compile()

    def matching(self, raw: bytes) -> list[int]:
        """Return the patterns that match in loosened form."""
        return self._match(raw, is_potential=False)

    def possible(self, raw: bytes) -> list[int]:
        """Return the patterns that have the words they need."""
        return self._match(raw, is_potential=True)

    def _match(self, raw: bytes, *, is_potential: bool) -> list[int]:
        if not self._places:
            return []
        matched = self._filter.Match(raw, potential=is_potential)
        return [self._places[place] for place in matched] if matched else []


def _pieces(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Split bytes at line ends; yield the start of each piece, and the piece."""
    start = 0
    while len(raw) - start > _PIECE_BYTES:
        end = raw.find(b"\n", start + _PIECE_BYTES)
        if end < 0:
            break
        yield start, raw[start:end]
        start = end + 1
    yield start, raw[start:]


def _in_characters(spans: list[tuple[int, int, int]], raw: bytes) -> list[tuple[int, int, int]]:
    """Convert byte positions to text positions in one pass."""
    places: dict[int, int] = {}
    last = characters = 0
    for place in sorted({place for _, *span in spans for place in span}):
        characters += len(raw[last:place].decode())
        places[place], last = characters, place
    return [(pattern, places[start], places[end]) for pattern, start, end in spans]


def _is_within_line(pattern: str) -> bool:
    """Tell whether no part of a pattern can match a line end."""
    rest = _NEGATED_CLASS.sub(
        lambda found: "" if r"\n" in found[1] or r"\s" in found[1] else r"\s", pattern
    )
    return not any(sign in rest for sign in _LINE_ENDS)


def loosened(pattern: str) -> str:
    """Return a pattern that matches wherever the given one does, and is much cheaper to search."""
    wider = pattern.replace(LETTER, _LETTER_OR_SIGN)
    return _AT_MOST.sub(lambda bound: bound[1] or ("*" if bound[2] == "0" else "+"), wider)


def without_lookaround(pattern: str) -> str:
    """Return a pattern for re2 that matches wherever the given one of `re` does."""
    return _LOOKAROUND.sub("", pattern)


class Precheck:
    """Tells in one pass which patterns of `re` cannot match a text and need not be tried."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(without_lookaround(pattern))
        self._filter.Compile()

    def possible_in(self, text: str) -> list[int]:
        """Return the positions of the patterns that may match a text."""
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        return self._filter.Match(raw, potential=True) or []
