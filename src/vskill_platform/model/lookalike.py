"""Names that are easily confused: similar letters, similar parts, or one typo."""

import hashlib
import re
import unicodedata
from enum import StrEnum
from functools import cache

NAMES_VERSION = 1
#: Letters of other scripts that look identical to these. Letters that NFKC normalises, or that only
#: look similar, are left out.
_LETTERS = {
    "a": "\u0430\u03b1\u0251",
    "b": "\u0184\u042c",
    "c": "\u0441\u03f2\u1d04",
    "d": "\u0501",
    "e": "\u0435\u04bd",
    "g": "\u0261\u0581",
    "h": "\u04bb\u0570",
    "i": "\u0456\u03b9\u0131",
    "j": "\u0458\u03f3",
    "k": "\u03ba\u043a",
    "l": "\u04cf\u01c0",
    "m": "\u043c",
    "n": "\u0578\u057c",
    "o": "\u043e\u03bf\u0585",
    "p": "\u0440\u03c1",
    "q": "\u051b\u0566",
    "r": "\u0433\u1d26",
    "s": "\u0455\ua731",
    "t": "\u0442\u03c4",
    "u": "\u057d\u03c5\u1d1c",
    "v": "\u03bd\u0475\u1d20",
    "w": "\u051d\u0461\u1d21",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3\u04af",
    "z": "\u1d22",
}
CONFUSABLES = str.maketrans(
    {look_alike: letter for letter, many in _LETTERS.items() for look_alike in many}
)
#: Sequences that look the same in most fonts; longer ones first.
_SHAPES = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"))
_SEPARATORS = re.compile(r"[\W_]+")
_DOUBLED = re.compile(r"(.)\1+")
#: Words that don't identify a skill.
_AFFIXES = frozenset(
    [
        "skill",
        "skills",
        "agent",
        "agents",
        "official",
        "original",
        "pro",
        "plus",
        "premium",
        "lite",
        "new",
        "the",
        "my",
        "best",
        "easy",
        "simple",
        "tool",
        "tools",
        "helper",
        "app",
        "kit",
        "ai",
        "claude",
    ]
)
#: The minimum length of a name without its affixes; a shorter one keeps them.
_MIN_STEM = 4
#: Shorter names resemble each other by chance.
_MIN_FOR_TYPOS = 5


class NameSimilarity(StrEnum):
    HOMOGLYPH = "looks the same"
    SLIP = "differs by little"


def compare_names(name: str, other: str) -> NameSimilarity | None:
    """Return how a name resembles another one; None if it does not, or if both are the same."""
    if name == other:
        return None
    if skeleton(name) == skeleton(other):
        return NameSimilarity.HOMOGLYPH
    ours, theirs = fold_name(name), fold_name(other)
    if ours != theirs and not is_one_typo_apart(ours, theirs):
        return None
    return NameSimilarity.SLIP if name.isascii() else NameSimilarity.HOMOGLYPH


def name_marks(name: str) -> tuple[str, ...]:
    """Return the marks of a name; every similar name shares at least one of them.

    If two words are one typo apart, removing one letter from one or both makes them equal.
    """
    folded = fold_name(name)
    forms = {folded}
    if len(folded) >= _MIN_FOR_TYPOS:
        forms |= {folded[:at] + folded[at + 1 :] for at in range(len(folded))}
    return tuple(sorted(f"n{NAMES_VERSION}.{_digest(form)}" for form in forms if form))


def skeleton(name: str) -> str:
    """Return a name as it looks, in any script."""
    # Translated before and after each step: a lunate sigma looks like a c, but NFKC turns it into a
    # final sigma, and an upper-case letter may resemble one that its lower-case form does not.
    plain = unicodedata.normalize("NFKC", name.translate(CONFUSABLES)).translate(CONFUSABLES)
    plain = plain.casefold().translate(CONFUSABLES)
    for shape, same in _SHAPES:
        plain = plain.replace(shape, same)
    return plain


@cache
def fold_name(name: str) -> str:
    """Return a name without affixes, separators and doubled letters."""
    parts = [part for part in _SEPARATORS.split(skeleton(name)) if part]
    while parts[:1] and parts[0] in _AFFIXES and _is_a_name(parts[1:]):
        parts = parts[1:]
    while parts[:1] and parts[-1] in _AFFIXES and _is_a_name(parts[:-1]):
        parts = parts[:-1]
    return _DOUBLED.sub(r"\1", "".join(parts))


def _is_a_name(parts: list[str]) -> bool:
    return len("".join(parts)) >= _MIN_STEM and not _AFFIXES.issuperset(parts)


def is_one_typo_apart(one: str, other: str) -> bool:
    """Return whether the words differ by one inserted, missing, wrong or swapped letter."""
    if len(one) > len(other):
        one, other = other, one
    if len(other) < _MIN_FOR_TYPOS or len(other) - len(one) > 1:
        return False
    start = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one)
    )
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    swapped = other[start + 1 : start + 2] + other[start : start + 1]
    return one[start + 1 :] == other[start + 1 :] or (
        one[start : start + 2] == swapped and one[start + 2 :] == other[start + 2 :]
    )


def _digest(form: str) -> str:
    return hashlib.blake2b(form.encode(errors="replace"), digest_size=4).hexdigest()
