"""Passwords that are guessed first, told by how they are made: no list of words is needed."""

from itertools import pairwise

#: What lies side by side on a keyboard or follows each other, as fingers and heads go along it.
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz", "01234567890",
    "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm",
    "1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm",
)  # fmt: skip
_NEIGHBOURS = frozenset(pair for row in _ROWS for way in (row, row[::-1]) for pair in pairwise(way))
#: Two neighbours stand in many words.
_SHORTEST_RUN = 3


def repeats_a_piece(password: str, *, shorter_than: int) -> bool:
    """Tell whether it is one short piece over and over again, the last one perhaps in part."""
    text = password.lower()
    longest = min(shorter_than - 1, len(text) // 2)
    return any(text[length:] == text[:-length] for length in range(1, longest + 1))


def count_strides(password: str) -> int:
    """Count what is left to guess if each run of neighbouring keys, or of one key, is one guess."""
    text, strides, at = password.lower(), 0, 0
    while at < len(text):
        length = _length_of_run(text, at)
        at += length if length >= _SHORTEST_RUN else 1
        strides += 1
    return strides


def _length_of_run(text: str, start: int) -> int:
    end = start + 1
    while end < len(text) and _goes_on(text[end - 1], text[end]):
        end += 1
    return end - start


def _goes_on(before: str, after: str) -> bool:
    return before == after or (before, after) in _NEIGHBOURS
