"""Many patterns looked for in one pass over a text, in time that grows with its length only.

The engine works out which words each pattern cannot do without, looks for all of them at once and
tries only the patterns whose words are there. So most texts are done with in microseconds, and no
list of such words has to be kept in step with the patterns by hand.
"""

import re
from collections.abc import Iterable, Iterator

import re2

#: The engine cannot look around; a pattern that does not do so finds the same and more.
_LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()\[\]\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)")


class PatternSet:
    """Patterns of `re2`; each is known by its place in the order they were given in."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._filter = re2.Filter()
        self._patterns = [self._filter.re(self._filter.Add(pattern)) for pattern in patterns]
        self._filter.Compile()

    def finds(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield the pattern, the start and the end of all that is found, pattern by pattern."""
        for place in self._filter.Match(text) or ():
            for found in self._patterns[place].finditer(text):
                yield place, *found.span()


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
