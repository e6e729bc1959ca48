"""Similarity of skills: MinHash sketches of their words, small enough to keep for every skill.

A text is the set of its shingles, each four consecutive words. Only the smallest of their hashes
are kept (MinHash): the overlap of two sketches estimates the overlap of the sets. Marks are derived
from a sketch so that similar texts almost certainly share one and others do not; a store can look
them up without reading every sketch. The result is deterministic and the same on every machine;
increase SKETCH_VERSION when the computation changes.
"""

import hashlib
import struct
import zlib
from collections.abc import Sequence

import msgspec

SKETCH_VERSION = 1
SHINGLE_WORDS = 4
#: Up to this many shingles the comparison is exact; with more, the error is about 0.02.
_KEPT = 256
#: A text with fewer shingles is too short: short instructions are similar by chance.
MIN_SHINGLES = 40
#: From this similarity on, a text counts as a copy with small changes.
NEAR_COPY = 0.85
#: Number of bins of hashes, and of bins per mark. Two texts with a similarity of 0.85 share a mark
#: with a probability of 99 %, with 0.9 of 99.9 %, with 0.3 of 2 %. More marks would find more and
#: enlarge the index.
_BINS, _ROWS = 40, 5
_MARKS = _BINS // _ROWS
#: Spreads the values of a checksum; odd, so that no two hashes collide.
_SPREAD = 2_654_435_761
_MASK = 0xFFFF_FFFF

#: The order in which other bins replace an empty one; fixed, but different for each bin.
_STAND_INS = tuple(
    tuple(byte % _BINS for byte in hashlib.blake2b(bytes([number]), digest_size=64).digest())
    for number in range(_BINS)
)


class Sketch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    #: How many different shingles the text has.
    size: int = 0
    #: The smallest of their hashes in order, four bytes each.
    smallest: bytes = b""

    def hashes(self) -> tuple[int, ...]:
        return struct.unpack(f">{len(self.smallest) // 4}I", self.smallest)


class SkillSketch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of a skill that are compared with others."""

    version: int = SKETCH_VERSION
    instructions: Sketch = Sketch()
    scripts: Sketch = Sketch()
    #: Its capabilities by kind, as in its report.
    capabilities: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


def sketch_words(words: Sequence[str]) -> Sketch:
    shingles = zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
    hashes = sorted({_hash(" ".join(shingle)) for shingle in shingles})
    kept = hashes[:_KEPT]
    return Sketch(len(hashes), struct.pack(f">{len(kept)}I", *kept))


def similarity(one: Sketch, other: Sketch) -> float:
    """Estimate the similarity of two texts: the share of all their shingles that is in both."""
    ours, theirs = set(one.hashes()), set(other.hashes())
    union = sorted(ours | theirs)
    if max(one.size, other.size) > _KEPT:  # then not all hashes of both are known
        union = union[:_KEPT]
    return sum(item in ours and item in theirs for item in union) / len(union) if union else 0.0


def is_near_copy(one: Sketch, other: Sketch) -> bool:
    return (
        min(one.size, other.size) >= MIN_SHINGLES
        and min(one.size, other.size) >= NEAR_COPY * max(one.size, other.size)
        and similarity(one, other) >= NEAR_COPY
    )


def text_marks(text: Sketch) -> tuple[str, ...]:
    """Return marks; a near copy of this text almost certainly shares at least one of them."""
    if text.size < MIN_SHINGLES:
        return ()
    bins = _bins(text)
    return tuple(
        f"t{SKETCH_VERSION}.{number}{_digest(bins[number * _ROWS : (number + 1) * _ROWS])}"
        for number in range(_MARKS)
    )


def _bins(text: Sketch) -> list[int]:
    """Return the smallest hash in each bin; an empty bin is filled from another."""
    found = {item % _BINS: item for item in reversed(text.hashes())}
    return [found[number] if number in found else _borrow(number, found) for number in range(_BINS)]


def _borrow(number: int, found: dict[int, int]) -> int:
    candidates = (*_STAND_INS[number], *range(_BINS))
    return next(found[other] for other in candidates if other in found)


def _hash(shingle: str) -> int:
    # A checksum is enough, at half the cost of a cryptographic hash: an attacker who wants similar
    # texts can simply copy one.
    return zlib.crc32(shingle.encode(errors="replace")) * _SPREAD & _MASK


def _digest(row: Sequence[int]) -> str:
    packed = struct.pack(f">{len(row)}I", *row)
    return hashlib.blake2b(packed, digest_size=4).hexdigest()
