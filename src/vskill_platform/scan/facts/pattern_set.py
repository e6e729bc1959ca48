"""Many patterns looked for in one pass over a text, in time that grows with its length only.

The engine works out which words each pattern cannot do without, looks for all of them at once and
tries only the patterns whose words are there. So most texts are done with in microseconds, and no
list of such words has to be kept in step with the patterns by hand.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import re2

#: The engine cannot look around; a pattern that does not do so finds the same and more.
_LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")
#: "At most so many" makes the engine count, which takes it tables of many times the size. The first
#: group is what only looks so: a sign of its own, or what stands in brackets.
_AT_MOST = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\{([01]),\d+\}")


def lines_with(pattern: Any, text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line in which a match of a `re2` pattern begins.

    One search goes over the whole text, which is many times faster than one for each line. A match
    that goes on in the next line counts, so whoever minds checks the line itself.
    """
    raw = text.encode(errors="replace")  # strings of code may hold half a character
    number, next_line = 1, 0
    while next_line < len(raw) and (found := pattern.search(raw, next_line)):
        start = raw.rfind(b"\n", next_line, found.start()) + 1 or next_line
        end = raw.find(b"\n", found.start())
        end = len(raw) if end < 0 else end
        number += raw.count(b"\n", next_line, start)
        yield number, raw[start:end].decode()
        number, next_line = number + 1, end + 1


class PatternSet:
    """Patterns of `re2`; each is known by its place in the order they were given in.

    Each group gets a filter of its own. The filter's automaton remembers which words it has met,
    so with too many of them together it runs out of room and starts again and again: words in
    English and in seven other languages take a third of the time in two groups.
    """

    def __init__(self, *groups: Iterable[str]) -> None:
        #: Each filter with the place of its first pattern.
        self._filters: list[tuple[int, Any]] = []
        self._texts: list[str] = []
        #: What the filters have compiled already, and what was needed beside that.
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
        """Say quickly whether any words that some patterns cannot do without are in a text."""
        raw = text.encode(errors="replace")  # strings of code may hold half a character
        return not only.isdisjoint(self._places_in(raw, is_potential=True))

    def finds(
        self, text: str, only: AbstractSet[int] | None = None
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the pattern, the start and the end of all that is found, pattern by pattern."""
        raw = text.encode()
        # Without other characters, places in the bytes are places in the text.
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
        if place not in self._compiled:  # most are found in no text and never needed
            self._compiled[place] = re2.compile(self._texts[place])
        return self._compiled[place]


def _loosened(pattern: str) -> str:
    """Return a pattern that is found wherever the given one is, and is much cheaper to look for."""
    return _AT_MOST.sub(lambda bound: bound[1] or ("*" if bound[2] == "0" else "+"), pattern)


class Precheck:
    """Says in one pass which patterns of `re` a text cannot hold, so that they need no try."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filter = re2.Filter()
        for pattern in patterns:
            self._filter.Add(_LOOKAROUND.sub("", pattern))
        self._filter.Compile()

    def possible_in(self, text: str) -> list[int]:
        """Return the places of the patterns that a text may hold."""
        raw = text.encode(errors="replace")  # strings of code may hold half a character
        return self._filter.Match(raw, potential=True) or []
