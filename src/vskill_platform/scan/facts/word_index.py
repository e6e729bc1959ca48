"""Find in one pass over a text which of many patterns have all their required words in it.

An Aho-Corasick automaton finds the words. Unlike the filter of the regex engine it caches nothing
about texts, so a new text takes as long as any other.
"""

from collections.abc import Sequence

import ahocorasick_rs

from vskill_platform.scan.facts.required_words import Needs

#: A longer text is searched in parts, because each match is an object.
_PART_BYTES = 32_768


class WordIndex:
    """The words that patterns require; each pattern is identified by its position."""

    def __init__(self, patterns: Sequence[Needs]) -> None:
        alternatives = [(place, one) for place, needs in enumerate(patterns) for one in needs]
        self._places = [place for place, _ in alternatives]
        self._most = max((len(needs) for _, needs in alternatives), default=1) or 1
        #: The met needs as bits: all first needs come first, then all second needs.
        self._met = 0
        found: dict[str, int] = {}
        for number, (_, needs) in enumerate(alternatives):
            for turn in range(self._most):
                bit = 1 << turn * len(alternatives) + number
                if turn >= len(needs):
                    self._met |= bit
                for word in needs[turn] if turn < len(needs) else ():
                    found[word] = found.get(word, 0) | bit
        words = [word.encode() for word in found]
        self._bits = list(found.values())
        self._overlap = max(map(len, words), default=1) - 1
        self._automaton = ahocorasick_rs.BytesAhoCorasick(words)

    def met_in(self, raw: bytes) -> int:
        """Return the needs that a text meets; for a longer text, the union over its parts."""
        folded = raw.lower() if raw.isascii() else raw.decode().casefold().encode()
        met, bits = self._met, self._bits
        for start in range(0, len(folded), _PART_BYTES):
            part = folded[start : start + _PART_BYTES + self._overlap]
            found = self._automaton.find_matches_as_indexes(part, overlapping=True)
            for word in {match[0] for match in found}:
                met |= bits[word]
        return met

    def possible(self, met: int) -> set[int]:
        """Return the patterns that have an alternative with all needs met."""
        count = len(self._places)
        possible = met & (1 << count) - 1
        for turn in range(1, self._most):
            possible &= met >> turn * count
        places = set()
        while possible:
            lowest = possible & -possible
            places.add(self._places[lowest.bit_length() - 1])
            possible ^= lowest
        return places
