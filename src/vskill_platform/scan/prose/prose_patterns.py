"""The patterns of prose, and what each expresses: in English, in other languages, and anchors."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.facts.pattern_set import LETTER, PatternSet
from vskill_platform.scan.prose.frames_other import foreign_patterns
from vskill_platform.scan.prose.sentences import Combination, load_anchors

#: What a pattern expresses: an act, or an anchor of acts that its sentence may express.
_Meaning = Act | list[Combination]


class ProseLexicon(NamedTuple):
    """Patterns and their meanings."""

    meanings: list[_Meaning]
    patterns: PatternSet


#: How far a repetition counts, and how far joined patterns may count together.
_AT_MOST, _MAX_COUNTED = re.compile(r"\{\d+,(\d+)\}"), 1_200
#: Signs of a large pattern: many alternatives, or letters beyond ASCII.
_LONG_WORDS = ("<secret>", "<private>", "<content>", "<worse>", "<reply>", "<opening>")


@cache
def load_patterns() -> ProseLexicon:
    known = list(_known_patterns())
    return ProseLexicon([meaning for meaning, _ in known], PatternSet(text for _, text in known))


def prose_patterns() -> list[str]:
    """Return all patterns whose required words are stored."""
    return [*(text for _, text in _known_patterns()), *foreign_patterns()]


def _known_patterns() -> Iterator[tuple[_Meaning, str]]:
    tables = load_data("prose.toml")
    words = tables["words"]
    known: list[tuple[_Meaning, str]] = [
        (Act[name], _expand(pattern, words))
        for name, table in tables.items()
        if table is not words
        for pattern in _joined(table["patterns"])
    ]
    anchors = [(combinations, anchor) for anchor, combinations in load_anchors().items()]
    known += [one for one in anchors if one[1].isascii()]
    known += _of_other_languages(words)
    known += [one for one in anchors if not one[1].isascii()]
    yield from ((meaning, f"(?im){text}") for meaning, text in known)


def _joined(patterns: list[str]) -> Iterator[str]:
    """Combine patterns into one; long ones stay separate, because the engine's memory is small."""
    long = [pattern for pattern in patterns if any(word in pattern for word in _LONG_WORDS)]
    joined: list[str] = []
    for pattern in patterns:
        if pattern not in long:
            if _counted([*joined, pattern]) > _MAX_COUNTED:
                yield "|".join(joined)
                joined = []
            joined.append(pattern)
    if joined:
        yield "|".join(joined)
    yield from long


def _counted(patterns: list[str]) -> int:
    """Return how far patterns count: the engine has a state for each character."""
    return sum(int(most) for pattern in patterns for most in _AT_MOST.findall(pattern))


@cache
def places_of(acts: frozenset[Act]) -> frozenset[int]:
    meanings = enumerate(load_patterns().meanings)
    return frozenset(place for place, act in meanings if isinstance(act, Act) and act in acts)


def _of_other_languages(common: dict[str, str]) -> Iterator[tuple[Act, str]]:
    """Yield each pattern separately: combined, they would exceed the engine's memory.

    The engine's own word characters are Latin only.
    """
    tables = load_data("languages.toml")
    languages = tables["words"].values()
    for name, table in tables.items():
        for pattern in table.get("patterns", ()):
            is_general = "<send>" in pattern or "<secret>" in pattern
            for words in languages if is_general else [{}]:
                expanded = _expand(pattern, words).replace(r"\w", LETTER)
                yield Act[name], _expand(expanded, common)


def _expand(pattern: str, words: dict[str, str]) -> str:
    for name, meaning in words.items():
        pattern = pattern.replace(f"<{name}>", meaning)
    return pattern
