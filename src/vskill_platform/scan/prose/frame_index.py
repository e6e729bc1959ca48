"""Prefilter: which frames can match a text, judging by its words.

Of ten thousand sentences in harmless skills, a few contain all words and phrases that a frame
needs. Only these are worth reading.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from string import ascii_lowercase, digits

import ahocorasick_rs

#: Everything but letters, digits and line ends becomes a space.
_SEPARATED = bytes(
    code if chr(code) in f"{ascii_lowercase}{digits}\n" else ord(" ") for code in range(256)
)
#: Text that every address contains; a pattern that starts with a fixed character is faster.
_MAY_NAME_ADDRESS = re.compile(r"\.(?<=[a-z0-9-]\.)[a-z0-9-]", re.IGNORECASE)
#: The rest of "don't" after its apostrophe has become a space.
_REST_OF_NOT = b"t"
_BLANKS = re.compile(b"  +")
#: A longer text is searched in parts, because each match is an object.
_PART_BYTES = 32_768


def union_of(bits: Iterable[int]) -> int:
    union = 0
    for bit in bits:
        union |= bit
    return union


def words_of(text: str) -> bytes:
    """Return the text with its words separated by spaces and its lines unchanged."""
    return text.lower().encode("ascii", "replace").translate(_SEPARATED)


def _between_spaces(words: bytes) -> bytes:
    return b" %b " % b" ".join(words.split())


def _places(bits: int) -> Iterator[int]:
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


class FrameIndex:
    """The words and phrases that meet the needs of frames, each a bit of an integer.

    All first needs come first, then all second needs, so a few operations on integers show which
    frames are possible. The needs that a negated word meets come after all others.
    """

    def __init__(
        self,
        needs: Sequence[tuple[int, ...]],
        classes: Mapping[str, int],
        *,
        address: int,
        mailbox: int,
        width: int,
        negations: Iterable[str],
    ) -> None:
        """Index the needs of each frame, and the classes of each word or phrase.

        A need is a union of classes; classes shifted by *width* stand for negated words.
        """
        self._count, self._turns = len(needs), max(map(len, needs))
        self._size = self._count * self._turns
        #: Detect a negation, and a known word.
        self._is_negated, self._is_known = 1 << 2 * self._size, 2 << 2 * self._size
        asked = [
            (1 << turn * self._count + number, one[turn] if turn < len(one) else 0)
            for number, one in enumerate(needs)
            for turn in range(self._turns)
        ]
        self._nothing = union_of(bit for bit, need in asked if not need)
        self._empty = self._nothing | self._is_negated
        by_class = [0] * width
        for bit, need in asked:
            for place in _places(need):
                by_class[place % width] |= bit << self._size * (place // width)

        @cache
        def met_by(its: int) -> int:
            return union_of(by_class[place] for place in _places(its))

        self._address, self._mailbox = met_by(address), met_by(mailbox) | self._is_known
        #: What the words and phrases meet, each between spaces; negations have a bit of their own.
        met = {_between_spaces(word.encode()): self._is_negated for word in negations}
        met[_between_spaces(_REST_OF_NOT)] = self._is_negated
        forms = map(_between_spaces, words_of("\n".join(classes)).split(b"\n"))
        for form, its in zip(forms, classes.values(), strict=True):
            if met_by(its):
                met[form] = met.get(form, 0) | met_by(its) | self._is_known
                # Its longest word alone is also known.
                longest = _between_spaces(max(form.split(), key=len))
                met[longest] = met.get(longest, 0) | self._is_known
        self._met = list(met.values())
        self._overlap = max(map(len, met), default=0)
        self._automaton = ahocorasick_rs.BytesAhoCorasick(list(met))

    def met_in(self, text: str) -> list[int]:
        """Return the needs that each line of a text meets; for several lines, take their union."""
        lines = [self._addresses_in(line) for line in text.split("\n")]
        words = b" %b \n" % _BLANKS.sub(b" ", words_of(text).replace(b"\n", b" \n "))
        ends = list(accumulate(map(len, words.splitlines(keepends=True))))
        for start in range(0, len(words), _PART_BYTES):
            part = words[start : start + _PART_BYTES + self._overlap]
            self._add_words(lines, ends, start, part)
        return lines

    def _addresses_in(self, line: str) -> int:
        met = self._nothing
        if ("." in line and _MAY_NAME_ADDRESS.search(line)) or "0x" in line or ":/" in line:
            met |= self._address
        return met | self._mailbox if "@" in line else met

    def _add_words(self, lines: list[int], ends: list[int], start: int, part: bytes) -> None:
        """Add the needs that the words of a part meet to those of their lines."""
        number = bisect_right(ends, start)
        met, met_by, end = lines[number], self._met, ends[number] - start
        for place, at, _ in self._automaton.find_matches_as_indexes(part, overlapping=True):
            if at >= end:
                lines[number] = met
                number = bisect_right(ends, start + at)
                met, end = lines[number], ends[number] - start
            met |= met_by[place]
        lines[number] = met

    def is_known(self, met: int) -> bool:
        """Return whether a text contains any word of the frames, and not just an address."""
        return met >= self._is_known  # the highest bit

    def is_empty(self, met: int) -> bool:
        return met in (self._nothing, self._empty)

    def possible(self, met: int, among: int) -> int:
        """Return, as bits, which frames of *among* have all their needs met, in any order."""
        if met & self._is_negated:
            met |= met >> self._size
        possible = met & among
        for turn in range(1, self._turns):
            if not possible:
                break
            possible &= met >> turn * self._count
        return possible
