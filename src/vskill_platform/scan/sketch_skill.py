"""Compute the similarity sketch of a skill: the words of its instructions and code."""

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from vskill_platform.model.lookalike import CONFUSABLES
from vskill_platform.model.similarity import SkillSketch, sketch_words
from vskill_platform.model.skill import Capabilities
from vskill_platform.scan.facts.hidden_text import visible
from vskill_platform.scan.read.frontmatter import FrontmatterError, read_frontmatter
from vskill_platform.scan.read.manifest import MANIFEST, MAX_MANIFEST_BYTES
from vskill_platform.scan.read.skill_files import language_of

#: Further words of one kind are ignored, because they cost time and add nothing.
MAX_WORDS = 20_000
#: The limits for one script, and for all scripts together.
_MAX_SCRIPT_BYTES, _MAX_SCRIPTS_BYTES = 64 * 1024, 256 * 1024
_FIRST_LINE = 200
#: Writing systems without spaces between words, in which each character counts as a word.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


def sketch_skill(folder: Path, capabilities: Capabilities) -> SkillSketch:
    return SkillSketch(
        instructions=sketch_words(words_of(_instructions(folder))),
        scripts=sketch_words(words_of(_scripts(folder))),
        capabilities=capabilities,
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text by their look: without hidden characters and look-alikes."""
    if text.isascii():
        return _first_words(_ASCII_WORD, text.lower())
    return _first_words(_WORD, visible(text).lower().translate(CONFUSABLES))


def _first_words(pattern: re.Pattern[str], text: str) -> list[str]:
    return [found[0] for found in islice(pattern.finditer(text), MAX_WORDS)]


def _instructions(folder: Path) -> str:
    text = _read(folder / MANIFEST, MAX_MANIFEST_BYTES)
    try:
        return read_frontmatter(text).body
    except FrontmatterError:
        return text


def _scripts(folder: Path) -> str:
    return "\n".join(_texts_of_scripts(folder))


def _texts_of_scripts(folder: Path) -> Iterable[str]:
    room = _MAX_SCRIPTS_BYTES
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if room <= 0:
            return
        text = _read(path, min(room, _MAX_SCRIPT_BYTES)) if _may_be_script(path) else ""
        if text and language_of(path.name, text[:_FIRST_LINE]):
            room -= len(text)
            yield text


def _may_be_script(path: Path) -> bool:
    """Return False for files whose name shows that they are something else."""
    return bool(language_of(path.name, "")) or not path.suffix


def _read(path: Path, limit: int) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(limit).decode(errors="replace")
