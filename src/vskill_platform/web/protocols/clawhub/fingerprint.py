"""Compute fingerprints of skills like ClawHub clients, to find out which version a folder contains.

A fingerprint is the SHA-256 of one line `path:sha256` for each file. The lines are sorted with
JavaScript's `localeCompare`, not by code point: `SKILL.md` comes after `scripts/run.sh`.
"""

import hashlib
import unicodedata
from collections.abc import Iterable

from vskill_platform.base.lru_cache import LruCache
from vskill_platform.base.off_loop import in_few_threads
from vskill_platform.model.skill import SkillFile, SkillVersion

#: Printable ASCII in the order of the Unicode collation algorithm; letters in lower case.
_ORDER = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"
_WEIGHTS = {letter: weight for weight, letter in enumerate(" " + _ORDER, 1)}
#: Other letters sort after all of ASCII.
_OTHER = len(_WEIGHTS) + 1
_IGNORED_FOLDER = "node_modules"
#: ClawHub generates this file; clients do not publish it, but include it when they update.
_CARD = "skill-card.md"
_REMEMBERED = 10_000

#: The fingerprints that a client may compute for the files of an archive, by its digest.
_known: LruCache[str, frozenset[str]] = LruCache(capacity=_REMEMBERED, size_of=lambda _: 1)

SortKey = tuple[tuple[tuple[int, int], ...], str, tuple[bool, ...], str]


def locale_key(text: str) -> SortKey:
    """Return a sort key that orders like `localeCompare`; exact for printable ASCII.

    It compares letters first, then accents, then case, with lower case before upper case.
    """
    plain = unicodedata.normalize("NFD", text)
    base = [letter for letter in plain if not unicodedata.combining(letter)]
    accents = "".join(letter for letter in plain if unicodedata.combining(letter))
    primary = tuple(_weight(letter) for letter in "".join(base).casefold())
    return primary, accents, tuple(letter.isupper() for letter in base), text


def _weight(letter: str) -> tuple[int, int]:
    known = _WEIGHTS.get(letter)
    return (known, 0) if known else (_OTHER, ord(letter))


def fingerprint(files: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of files, given as path and SHA-256."""
    lines = [f"{path}:{sha256}" for path, sha256 in sorted(files, key=lambda f: locale_key(f[0]))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def fingerprints_of(files: Iterable[SkillFile]) -> frozenset[str]:
    """Return the fingerprints of a folder with these files: with and without its card."""
    seen = [(file.path, file.sha256) for file in files if _is_seen(file.path)]
    return frozenset(
        {fingerprint(seen), fingerprint(file for file in seen if file[0].lower() != _CARD)}
    )


async def find_match(versions: Iterable[SkillVersion], wanted: str) -> SkillVersion | None:
    """Return the first version with this fingerprint."""
    for version in versions:
        found = _known.get(version.archive_sha256)
        if found is None:
            found = await in_few_threads(fingerprints_of, version.files)
            _known.keep(version.archive_sha256, found)
        if wanted in found:
            return version
    return None


def _is_seen(path: str) -> bool:
    """Return whether clients include a file; they skip hidden files and installed packages."""
    parts = path.split("/")
    return _IGNORED_FOLDER not in parts and not any(part.startswith(".") for part in parts)
