"""The concepts of concepts.toml: one meaning in many languages, for the frames of all of them.

English words become classes of frame_lexicon.py, the stems of the other languages a pattern of
frames_other.py, so a frame is written once for all languages.
"""

import re
from functools import cache
from typing import Any

from vskill_platform.scan.facts.data_files import load_data
from vskill_platform.scan.facts.pattern_set import LETTER

ENGLISH = "en"
#: Separates a concept and a language.
OF_LANGUAGE = "/"
#: Their words are not separated, or begin with an article or preposition.
_UNSEPARATED = frozenset({"ar", "hi", "ja", "ko", "zh"})
#: `~` in a stem, and `_` at its end; the engine's own word boundary knows ASCII only.
_SAME_CLAUSE, _WORD_END = r"[^,.;:!?\n]*", r"(?:[^\pL\pN_]|$)"
_WORD_START = r"(?:^|[^\pL\pN_])"
_DOTLESS = "\N{LATIN SMALL LETTER DOTLESS I}"
_LISTED = re.compile(r",\s+")


@cache
def concept_classes() -> dict[str, dict[str, Any]]:
    """Return the English words of each concept, as a class of frames.toml."""
    concepts = load_data("concepts.toml")["concept"]
    return {
        name: {**table.get(ENGLISH, {}), "polar": table.get("polar", False)}
        for name, table in concepts.items()
    }


@cache
def concept_patterns() -> dict[str, str]:
    """Return the patterns of each concept in the other languages, by concept and language.

    One pattern for all languages of a concept would exceed the engine's memory.
    """
    concepts = load_data("concepts.toml")["concept"]
    return {
        f"{name}{OF_LANGUAGE}{language}": _pattern(language, text)
        for name, table in concepts.items()
        for language, text in table.items()
        if language not in {ENGLISH, "polar"}
    }


def polar_concepts() -> frozenset[str]:
    return frozenset(name for name, table in concept_classes().items() if table["polar"])


def concept_frames() -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = load_data("concepts.toml")["frame"]
    return frames


def _pattern(language: str, text: str) -> str:
    stems = "|".join(_stem(one) for one in _LISTED.split(text) if one.strip())
    return stems if language in _UNSEPARATED else f"{_WORD_START}(?:{stems})"


def _stem(text: str) -> str:
    # Letters that imitate others are replaced before a text is read, also this one in Turkish.
    text = (
        text.strip()
        .replace(_DOTLESS, f"[{_DOTLESS}i]")
        .replace("~", _SAME_CLAUSE)
        .replace(r"\w", LETTER)
    )
    return text[:-1] + _WORD_END if text.endswith("_") else text
