"""Search many patterns in one pass over a text, in linear time.

The literal words that a pattern requires are derived from the pattern. All words are searched for
at once, and only patterns whose words occur are tried. So most texts take microseconds, and no list
of words has to be maintained beside the patterns.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

import re2

from vskill_platform.scan.facts.required_words import required_words
from vskill_platform.scan.facts.word_index import WordIndex

#: The engine does not support lookaround; without it, a pattern matches a superset.
_LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
#: Bounded repetition makes the engine count, which multiplies the size of its tables. The first
#: group matches text that only looks like one: an escaped character, or a character class.
_AT_MOST = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{([01]),\d+\}")
#: A letter or digit of any script, and a larger class that takes a fifth of the time to compile,
#: because the engine's tables of all letters are long.
LETTER = r"[\pL\pN_]"
_LETTER_OR_SIGN = r"[0-9A-Za-z_\x{80}-\x{10FFFF}]"
_NEGATED_CLASS = re.compile(r"\[\^((?:\\.|[^\]\\])*)\]")
#: Parts of a pattern that can match a line end.
_LINE_ENDS = (r"\s", r"\n", r"\W", r"\D", r"\P", "(?s", "(?ims")
#: A piece ends at the first line end after this size. Half or four times the size is a tenth
#: slower.
_PIECE_BYTES = 400
#: How many tries are sorted by their pattern; a hostile text of a megabyte could need a million.
_MAX_TRIES_TOGETHER = 20_000

#: In other texts `re` knows more letters and blanks than re2.
_NOT_PLAIN = re2.compile(rb"[\v\x1c-\x1f\x80-\xff]")
#: At a last line end, only `re` finds the end of a text.
_AT_END = re.compile(r"(?<!\\)\$|\\Z")
_SILENT = re2.Options()
_SILENT.log_errors = False

#: A pattern, and the piece of text in which to search for it, with the start of the piece.
_Piece = tuple[int, int, bytes]
#: A pattern, and the start and end of a match.
_Span = tuple[int, int, int]


def lines_with(pattern: Any, text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line in which a match of a `re2` pattern begins.

    One search over the whole text is many times faster than one per line. A match may continue on
    the next line; callers to whom that matters must check the line.
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

    A text is searched in pieces of a few lines. A long text contains the words of most patterns
    somewhere, but seldom close together. So fewer patterns are tried, each on a short piece, which
    halves the time. Patterns that can match across lines search the whole text.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._texts = list(patterns)
        self._needs = [required_words(text) for text in self._texts]
        self._words = WordIndex(self._needs)
        #: The words of subsets of the patterns, because in code most other words would be found in
        #: vain.
        self._words_of_some: dict[frozenset[int], WordIndex] = {}
        self._within_line = {
            place for place, text in enumerate(self._texts) if _is_within_line(text)
        }
        #: Patterns that were needed so far, in loosened and in exact form.
        self._loose: dict[int, Any] = {}
        self._exact: dict[int, Any] = {}

    def finds(self, text: str, only: frozenset[int] | None = None) -> list[_Span]:
        """Return pattern, start and end of all matches, pattern by pattern.

        *only* restricts the patterns; the words of each such subset are indexed separately.
        """
        return self.finds_in_all([text], only)[0]

    def finds_in_all(
        self, texts: Sequence[str], only: frozenset[int] | None = None
    ) -> list[list[_Span]]:
        """Return the matches in each text.

        Each pattern is tried on all texts before the next one, because its tables are then in the
        processor's caches.
        """
        raws = [text.encode(errors="replace") for text in texts]  # code may have lone surrogates
        words = self._words_for(only)
        possible = (
            (place, number, start, piece)
            for number, raw in enumerate(raws)
            for place, start, piece in self._possible(raw, words)
        )
        spans: list[list[_Span]] = [[] for _ in raws]
        while some := list(islice(possible, _MAX_TRIES_TOGETHER)):
            for place, number, start, piece in sorted(some):
                if self._loose_form(place).search(piece):
                    spans[number] += (
                        (place, start + found.start(), start + found.end())
                        for found in self._pattern(place).finditer(piece)
                    )
        # In ASCII text, byte positions are text positions.
        return [
            sorted(its) if raw.isascii() else _in_characters(sorted(its), raw)
            for its, raw in zip(spans, raws, strict=True)
        ]

    def _words_for(self, only: frozenset[int] | None) -> WordIndex:
        if only is None:
            return self._words
        if only not in self._words_of_some:
            needs = [its if place in only else [] for place, its in enumerate(self._needs)]
            self._words_of_some[only] = WordIndex(needs)
        return self._words_of_some[only]

    def _possible(self, raw: bytes, words: WordIndex) -> Iterator[_Piece]:
        """Yield the patterns whose required words occur, and the pieces in which they do."""
        everywhere = 0
        for start, piece in _pieces(raw):
            met = words.met_in(piece)
            everywhere |= met
            for place in words.possible(met) & self._within_line:
                yield place, start, piece
        for place in words.possible(everywhere) - self._within_line:
            yield place, 0, raw

    def find_between(self, place: int, text: str, start: int, end: int) -> tuple[int, int] | None:
        """Return the first match of one pattern between two positions."""
        # The engine counts all characters that it is given, in each call. It sees one more on
        # either side, for the ends of words and lines.
        first = max(start - 1, 0)
        found = self._pattern(place).search(text[first : end + 1], start - first, end - first)
        return (found.start() + first, found.end() + first) if found else None

    def _loose_form(self, place: int) -> Any:
        if place not in self._loose:
            loose = loosened(self._texts[place])
            self._loose[place] = re2.compile(loose)
            if loose == self._texts[place]:
                self._exact[place] = self._loose[place]
        return self._loose[place]

    def _pattern(self, place: int) -> Any:
        if place not in self._exact:  # most never match and are never needed
            self._exact[place] = re2.compile(self._texts[place])
        return self._exact[place]


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
    """Return whether no part of a pattern can match a line end."""
    rest = _NEGATED_CLASS.sub(
        lambda found: "" if r"\n" in found[1] or r"\s" in found[1] else r"\s", pattern
    )
    return not any(sign in rest for sign in _LINE_ENDS)


def loosened(pattern: str) -> str:
    """Return a pattern that matches wherever the given one does, but is much faster to search."""
    wider = pattern.replace(LETTER, _LETTER_OR_SIGN)
    return _AT_MOST.sub(lambda bound: bound[1] or ("*" if bound[2] == "0" else "+"), wider)


def without_lookaround(pattern: str) -> str:
    """Return a pattern for re2 that matches wherever the given one of `re` does."""
    return _LOOKAROUND.sub("", pattern)


def may_match(pattern: str, raw: bytes) -> bool:
    """Return whether a pattern of `re` may match a text, in a tenth of the time of its search."""
    quick = _quick_form(pattern)
    if quick is None or quick.search(raw) is not None:
        return True
    return _NOT_PLAIN.search(raw) is not None


@cache
def _quick_form(pattern: str) -> Any:
    """Return a pattern of re2 that matches plain text wherever the given one of `re` does."""
    try:
        loose = loosened(without_lookaround(pattern))
        return None if _AT_END.search(pattern) else re2.compile(loose, _SILENT)
    except re2.error:  # a pattern that it does not support
        return None


class Precheck:
    """Finds in one pass which patterns of `re` cannot match a text and need not be tried."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(without_lookaround(pattern))
        self._filter.Compile()

    def possible_in(self, text: str) -> list[int]:
        """Return the positions of the patterns that may match a text."""
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        return self._filter.Match(raw, potential=True) or []
