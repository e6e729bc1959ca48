"""Find the lines of values that were parsed out of a text, in time that stays linear."""

import re
from bisect import bisect_left

_LINE_END = re.compile("\n")
#: How many characters are searched for the lines of all values of a text. After that, each value is
#: searched for near the previous one.
_MAX_SEARCHED = 2_000_000
_REACH = 4_000


class LineFinder:
    """Finds lines in a text; values are requested in about the order in which they occur."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_ends = [at.start() for at in _LINE_END.finditer(text)]
        #: The position of the last value, and how many characters were searched for all values.
        self._last_place, self._searched = 0, 0

    def line_at(self, position: int) -> int:
        return bisect_left(self._line_ends, position) + 1

    def line_of(self, *spellings: str) -> int:
        """Return the line of a value in the first spelling that occurs.

        For a value that is not found, this is the first line, or after very many values, the line
        of the previous value.
        """
        place = next((at for one in spellings if (at := self._find(one)) >= 0), -1)
        if place >= 0:
            self._last_place = place
        elif self._searched < _MAX_SEARCHED:
            return 1
        return self.line_at(self._last_place)

    def _find(self, value: str) -> int:
        if self._searched >= _MAX_SEARCHED:
            return self._text.find(value, self._last_place, self._last_place + _REACH)
        place = self._text.find(value)
        self._searched += place if place >= 0 else len(self._text)
        return place
