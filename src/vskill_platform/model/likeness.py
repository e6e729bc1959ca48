"""How like two skills are: sketches of their words, small enough to keep for every one of them.

A text is taken as the set of its shingles, four words in a row. Of their hashes the smallest are
kept (MinHash): what two sketches have in common estimates what the sets have in common. Marks are
made of a sketch so that like texts share one, almost certainly, and others do not; a store can
look them up without reading what is not similar. Nothing here is random and nothing depends on the
machine; whoever changes how it is computed counts LIKENESS_VERSION up.
"""

import hashlib
import struct
import zlib
from collections.abc import Sequence

import msgspec

LIKENESS_VERSION = 1
SHINGLE_WORDS = 4
#: Up to so many shingles the comparison is exact; of more, the error is about 0.02.
_KEPT = 256
#: Fewer shingles are no text that one can recognise: short instructions are alike by chance.
MIN_SHINGLES = 40
#: From here on one text is a copy of the other with little changed.
NEAR_COPY = 0.85
#: Bins that the hashes fall into, and how many of them make a mark. Two texts that have 0.85 in
#: common share a mark with 99 %, with 0.9 it is 99.9 %; two that have 0.3 in common, with 2 %.
#: More marks would miss less and make the index larger.
_BINS, _ROWS = 40, 5
_MARKS = _BINS // _ROWS
#: Spreads what a checksum leaves close together; odd, so that no two hashes become one.
_SPREAD = 2_654_435_761
_MASK = 0xFFFF_FFFF

#: Which bin stands in for an empty one: the same everywhere, and for each another one first.
_STAND_INS = tuple(
    tuple(byte % _BINS for byte in hashlib.blake2b(bytes([number]), digest_size=64).digest())
    for number in range(_BINS)
)


class Sketch(msgspec.Struct, frozen=True):
    #: How many different shingles the text has.
    size: int = 0
    #: The smallest of their hashes in order, four bytes each.
    smallest: bytes = b""

    def hashes(self) -> tuple[int, ...]:
        return struct.unpack(f">{len(self.smallest) // 4}I", self.smallest)


class Likeness(msgspec.Struct, frozen=True, kw_only=True):
    """What of a skill is compared with others."""

    version: int = LIKENESS_VERSION
    instructions: Sketch = Sketch()
    scripts: Sketch = Sketch()
    #: What it can do, by kind, as in its report.
    capabilities: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def sketch(words: Sequence[str]) -> Sketch:
    shingles = zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
    hashes = sorted({_hash(" ".join(shingle)) for shingle in shingles})
    kept = hashes[:_KEPT]
    return Sketch(len(hashes), struct.pack(f">{len(kept)}I", *kept))


def similarity(one: Sketch, other: Sketch) -> float:
    """Estimate which part of all shingles of two texts is in both of them."""
    ours, theirs = set(one.hashes()), set(other.hashes())
    union = sorted(ours | theirs)
    if max(one.size, other.size) > _KEPT:  # beyond that, we do not know all of both
        union = union[:_KEPT]
    return sum(item in ours and item in theirs for item in union) / len(union) if union else 0.0


def is_near_copy(one: Sketch, other: Sketch) -> bool:
    return (
        min(one.size, other.size) >= MIN_SHINGLES
        and min(one.size, other.size) >= NEAR_COPY * max(one.size, other.size)
        and similarity(one, other) >= NEAR_COPY
    )


def text_marks(text: Sketch) -> tuple[str, ...]:
    """Return what a near copy of this text almost certainly shares at least one of."""
    if text.size < MIN_SHINGLES:
        return ()
    bins = _bins(text)
    return tuple(
        f"t{LIKENESS_VERSION}.{number}{_digest(bins[number * _ROWS : (number + 1) * _ROWS])}"
        for number in range(_MARKS)
    )


def _bins(text: Sketch) -> list[int]:
    """Return the smallest hash in each bin; an empty one borrows, so that all are filled."""
    found = {item % _BINS: item for item in reversed(text.hashes())}
    return [found[number] if number in found else _borrow(number, found) for number in range(_BINS)]


def _borrow(number: int, found: dict[int, int]) -> int:
    candidates = (*_STAND_INS[number], *range(_BINS))
    return next(found[other] for other in candidates if other in found)


def _hash(shingle: str) -> int:
    # A checksum is enough and costs half of a cryptographic hash: who wants a text to look like
    # another can simply copy it.
    return zlib.crc32(shingle.encode(errors="replace")) * _SPREAD & _MASK


def _digest(row: Sequence[int]) -> str:
    packed = struct.pack(f">{len(row)}I", *row)
    return hashlib.blake2b(packed, digest_size=4).hexdigest()
