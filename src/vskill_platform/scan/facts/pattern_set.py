"""Search many patterns in one pass over a text, in linear time.

The engine derives the literal words that each pattern needs, searches for all of them at once and
tries only the patterns whose words occur. So most texts take microseconds, and no list of such
words has to be maintained next to the patterns.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import re2

#: The engine has no lookaround; a pattern without it matches the same and more.
_LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
#: Bounded repetition makes the engine count, which multiplies the size of its tables. The first
#: group is what only looks like one: an escaped character, or a character class.
_AT_MOST = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{([01]),\d+\}")


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
    """

    def __init__(self, *groups: Iterable[str]) -> None:
        #: Each filter with the position of its first pattern.
        self._filters: list[tuple[int, Any]] = []
        self._texts: list[str] = []
        #: Patterns that the filters have compiled, and those needed in addition.
        self._compiled: dict[int, Any] = {}
        for group in groups:
            self._add(group)

    def _add(self, patterns: Iterable[str]) -> None:
        first, together = len(self._texts), re2.Filter()
        for text in patterns:
            loosened = _loosened(text)
            place = together.Add(loosened)
            if loosened == text:
                self._compiled[first + place] = together.re(place)
            self._texts.append(text)
        together.Compile()
        self._filters.append((first, together))

    def may_find(self, text: str, only: AbstractSet[int]) -> bool:
        """Tell quickly whether a text contains words that some pattern needs."""
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        return not only.isdisjoint(self._places_in(raw, is_potential=True))

    def finds(
        self, text: str, only: AbstractSet[int] | None = None
    ) -> Iterator[tuple[int, int, int]]:
        """Yield pattern, start and end of all matches, pattern by pattern."""
        raw = text.encode()
        # In ASCII text, byte positions are text positions.
        hay = raw if len(raw) == len(text) else text
        for place in self._places_in(raw, is_potential=only is not None):
            if only is not None and place not in only:
                continue
            for found in self._pattern(place).finditer(hay):
                yield place, *found.span()

    def _places_in(self, raw: bytes, *, is_potential: bool) -> list[int]:
        return [
            first + place
            for first, together in self._filters
            for place in together.Match(raw, potential=is_potential) or ()
        ]

    def _pattern(self, place: int) -> Any:
        if place not in self._compiled:  # most match no text and are never needed
            self._compiled[place] = re2.compile(self._texts[place])
        return self._compiled[place]


def _loosened(pattern: str) -> str:
    """Return a pattern that matches wherever the given one does, and is much cheaper to search."""
    return _AT_MOST.sub(lambda bound: bound[1] or ("*" if bound[2] == "0" else "+"), pattern)


class Precheck:
    """Tells in one pass which patterns of `re` cannot match a text and need not be tried."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(_LOOKAROUND.sub("", pattern))
        self._filter.Compile()

    def possible_in(self, text: str) -> list[int]:
        """Return the positions of the patterns that may match a text."""
        raw = text.encode(errors="replace")  # strings in code may contain lone surrogates
        return self._filter.Match(raw, potential=True) or []
