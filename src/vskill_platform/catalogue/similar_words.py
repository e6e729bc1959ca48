"""Find words within one or two edits of another, by keys that similar words share.

A word at most one edit away from a misspelt word has the same first or second half. A word at most
two edits away has the same beginning, middle or ending. So similar words are found in a few short
ranges of the sorted words, and of keys made from middles and endings.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, groupby

import apsw
import msgspec

from vskill_platform.catalogue.sql import SEARCH, one_value
from vskill_platform.catalogue.words import singular

#: Shorter and longer words are neither kept nor corrected.
_SHORTEST, _LONGEST = 3, 24
#: Words of at most this length are corrected by one edit, longer ones by two.
ONE_EDIT = 5
#: Half of a word this short would match too many others. Instead, both words are compared after
#: removing one letter of each. A query of this length may have one letter more or less.
_SHORT = 4
#: How many letters of its ending are the key of a word.
_ENDING = 6
#: The shortest beginning or ending that is looked up.
_SHORTEST_PART = 2
#: How many words, those with the most letters in common, are compared letter by letter.
_COMPARED = 60
#: Cache size; most skills use the same words.
_REMEMBERED = 20_000
#: Greater than any letter.
_LAST = chr(0x10FFFF)
encode = msgspec.json.Encoder().encode


class _Similar(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A word that may be similar to a word of a query; *number* identifies the latter."""

    number: int
    word: str
    count: int
    #: The letters that only one of both words has, as bits like in `letters`.
    differing: int


#: A range of words to read, with its bounds and lengths; True for a range of keys instead.
_Range = tuple[bool, str, str, int, int]
_SIMILAR = msgspec.json.Decoder(list[list[_Similar]])


def closest(word: str, similar: list[_Similar], most: int) -> str | None:
    """Return the most used word at most this many edits away; callers try fewer edits first."""
    alike = sorted({(one.differing.bit_count(), -one.count, one.word) for one in similar})
    by_use = sorted((less_used, candidate) for _, less_used, candidate in alike[:_COMPARED])
    near = (found for _, found in by_use if edit_distance(word, found, most) <= most)
    return next(near, None)


def similar_words(
    connection: apsw.Connection, words: Sequence[str], most: int
) -> dict[str, list[_Similar]]:
    """Return the words that can be at most this many edits away, and some others, with one query.

    Each range returns as many words as are compared, so that no range displaces another. A known
    word, or a plural whose singular is known, is only similar to itself.
    """
    if not words:
        return {}
    ranges = _one_edit if most == 1 else _two_edits
    asked = [
        {
            "word": word,
            "singular": singular(word),
            "letters": letters(word),
            "ranges": list(ranges(word)),
        }
        for word in words
    ]
    bindings = {"asked": encode(asked).decode(), "most": most, "limit": _COMPARED}
    found: dict[str, list[_Similar]] = {word: [] for word in words}
    for some in _SIMILAR.decode(one_value(connection, SEARCH["similar_words"], bindings)):
        for one in some:
            found[words[one.number]].append(one)
    return found


def _one_edit(word: str) -> Iterator[_Range]:
    lengths = (len(word) - 1, len(word) + 1)
    if len(word) <= _SHORT:
        yield from (_with_keys(key, key, lengths) for key in _shortened(word))
        return
    half = len(word) // 2
    yield _starting(word[:half], lengths)
    yield from (_ending(word[half:], length) for length in range(lengths[0], lengths[1] + 1))
    swapped = _swapped(word, half)
    yield _words(swapped, swapped, lengths)


def _two_edits(word: str) -> Iterator[_Range]:
    lengths = range(len(word) - 2, len(word) + 3)
    too_short_for_three_parts = _SHORTEST_PART * 2 + 1
    for length in (each for each in lengths if each < too_short_for_three_parts):
        left = {"".join(letters) for letters in combinations(word, length)}
        yield from (_words(one, one, (length, length)) for one in left)
    divided = [length for length in lengths if length >= too_short_for_three_parts]
    for part, alike in groupby(divided, _part):
        yield from _two_edits_of(word, part, list(alike))


def _two_edits_of(word: str, part: int, lengths: list[int]) -> Iterator[_Range]:
    """Return the ranges for words of these lengths, whose first and last part have *part* letters.

    Two letters may be swapped across the boundary of two parts, with an edit in the third part, or
    with two more letters swapped across the other boundary.
    """
    first, second = _swapped(word, part), _swapped(word, len(word) - part)
    shortest, longest = lengths[0], lengths[-1]
    yield _starting(word[:part], (shortest, longest))
    yield _starting(first[: shortest - part], (shortest, longest))
    for length in lengths:
        yield _ending(word[-part:], length)
        yield _ending(second[part - length :], length)
        # With one edit before the middle part and one after it, that part has moved by at most one
        # letter.
        for start in (part - 1, part, part + 1):
            if abs(len(word) - length - (start - part)) <= 1:
                key = _middle_key(length, word[start : start + length - 2 * part])
                yield _with_keys(key, key, (length, length))
    if shortest <= len(word) <= longest:
        both = _swapped(first, len(word) - part)
        yield _words(both, both, (len(word), len(word)))


def edit_distance(one: str, other: str, most: int) -> int:
    """Count the letters to insert, delete, replace or swap, up to *most* and one more.

    At the first different letter it tries every kind of edit; for two edits, this is a fifth of the
    work of a table of all letters.
    """
    if one == other:
        return 0
    if not most or abs(len(one) - len(other)) > most:
        return most + 1
    at = 0
    for letter, wanted in zip(one, other, strict=False):
        if letter != wanted:
            break
        at += 1
    one, other = one[at:], other[at:]
    fewer, one_rest, other_rest = most - 1, one[1:], other[1:]
    best = min(
        edit_distance(one_rest, other_rest, fewer),
        edit_distance(one_rest, other, fewer),
        edit_distance(one, other_rest, fewer),
    )
    if one[:2] == other[1::-1]:
        best = min(best, edit_distance(one[2:], other[2:], fewer))
    return best + 1


@lru_cache(_REMEMBERED)
def is_kept(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isalpha()


def _keys(word: str) -> list[str]:
    """Return the keys of a word, in addition to the word itself."""
    if len(word) <= _SHORT + 1:
        keys = [*_shortened(word), _ending_key(len(word), word)]
    else:
        keys = [_ending_key(len(word), word)]
    if len(word) > _SHORTEST_PART * 2:
        part = _part(len(word))
        keys.append(_middle_key(len(word), word[part:-part]))
    return list(dict.fromkeys(keys))


def _part(length: int) -> int:
    """Return the length of the first and of the last of three parts of a word."""
    return max(length // 3, _SHORTEST_PART)


def _shortened(word: str) -> list[str]:
    return [f"-{word}", *(f"-{word[:at]}{word[at + 1 :]}" for at in range(len(word)))]


def _ending_key(length: int, ending: str) -> str:
    return f"<{length}{ending[::-1][:_ENDING]}"


def _middle_key(length: int, middle: str) -> str:
    return f"{length}{middle}"


def _words(low: str, high: str, lengths: tuple[int, int]) -> _Range:
    return (False, low, high, *lengths)


def _with_keys(low: str, high: str, lengths: tuple[int, int]) -> _Range:
    return (True, low, high, *lengths)


def _starting(start: str, lengths: tuple[int, int]) -> _Range:
    return _words(start, start + _LAST, lengths)


def _ending(ending: str, length: int) -> _Range:
    key = _ending_key(length, ending)
    return _with_keys(key, key + _LAST, (length, length))


def _swapped(word: str, at: int) -> str:
    """Swap the letters before and after a boundary."""
    return word[: at - 1] + word[at : at + 1] + word[at - 1 : at] + word[at + 1 :]


@lru_cache(_REMEMBERED)
def letters(word: str) -> int:
    """Return the letters of a word as bits."""
    return sum({1 << (ord(letter) % 32) for letter in word})


def key_rows(words: Iterable[str]) -> str:
    return encode([(key, word) for word in sorted(words) for key in _keys(word)]).decode()
