"""Find out by the words of a text which frames it may express, before the words are read in order.

Of ten thousand sentences in harmless skills, a few contain all words and phrases that a frame
needs. Only these are worth reading.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from string import ascii_lowercase, digits

#: Everything but letters, digits and line ends becomes a space.
_SEPARATED = bytes(
    code if chr(code) in f"{ascii_lowercase}{digits}\n" else ord(" ") for code in range(256)
)
#: Text that every address contains; a pattern that starts with a fixed character is faster.
_MAY_NAME_ADDRESS = re.compile(r"\.(?<=[a-z0-9-]\.)[a-z0-9-]", re.IGNORECASE)
#: The rest of "don't" after its apostrophe has become a space.
_REST_OF_NOT = b"t"


def union_of(bits: Iterable[int]) -> int:
    union = 0
    for bit in bits:
        union |= bit
    return union


def words_of(text: str) -> bytes:
    """Return the text with its words separated by spaces and its lines unchanged."""
    return text.lower().encode("ascii", "replace").translate(_SEPARATED)


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
        self._negations = frozenset({*map(str.encode, negations), _REST_OF_NOT})
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
        #: The needs that a word meets; and phrases with the needs that they meet, by first two
        #: words.
        self._words: dict[bytes, int] = {}
        self._phrases: dict[tuple[bytes, ...], list[tuple[bytes, int]]] = {}
        in_phrases = set()
        forms = words_of("\n".join(classes)).split(b"\n")
        for form, its in zip(forms, classes.values(), strict=True):
            first, *others = form.split()
            if met_by(its) and others:
                in_phrases.add(max(first, *others, key=len))
                rest = b" %b " % b" ".join((first, *others)) if others[1:] else b""
                self._phrases.setdefault((first, others[0]), []).append((rest, met_by(its)))
            elif met_by(its):
                self._words[first] = self._words.get(first, 0) | met_by(its)
        #: The longest word of each phrase.
        self._in_phrases = frozenset(in_phrases)
        self._known = frozenset({*in_phrases, *self._words})
        self._pairs, self._singles = frozenset(self._phrases), frozenset(self._words)

    def met_in(self, text: str, words: list[bytes]) -> int:
        """Return the needs that a text meets; for several texts, the union of their needs."""
        met = self._nothing
        if ("." in text and _MAY_NAME_ADDRESS.search(text)) or "0x" in text or ":/" in text:
            met |= self._address
        if "@" in text:
            met |= self._mailbox
        different = set(words)
        if not self._negations.isdisjoint(different):
            met |= self._is_negated
        known = self._known & different
        if not known:
            return met
        met |= self._is_known
        for word in self._singles & known:
            met |= self._words[word]
        if self._in_phrases.isdisjoint(known):
            return met
        pairs = self._pairs.intersection(pairwise(words))
        if pairs:
            line = b" %b " % b" ".join(words)
            for phrase, needs in (one for pair in pairs for one in self._phrases[pair]):
                if phrase in line:
                    met |= needs
        return met

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
