"""The words of public skills, updated as skills change, and used to correct typos in queries.

Words of private skills are not stored, so that no correction reveals one.
"""

from collections.abc import Collection, Mapping, Sequence

import apsw
import msgspec

from vskill_platform.catalogue.query import SkillHit
from vskill_platform.catalogue.similar_words import (
    ONE_EDIT,
    closest,
    encode,
    is_kept,
    key_rows,
    letters,
    similar_words,
)
from vskill_platform.catalogue.sql import SEARCH, WRITE
from vskill_platform.catalogue.words import query_words, words_of

#: Words with little meaning, which are left out if nothing contains all words of a query.
_STOP_WORDS = frozenset(
    words_of(
        "a an and are as at be by can do for from how i in into is it me my need of on or skill "
        "skills some something that the this to use using want which with you your"
    )
)
#: Common abbreviations. They contain digits or are short, so no edit leads to the word meant.
_ABBREVIATIONS = {
    "a11y": "accessibility",
    "db": "database",
    "dbs": "databases",
    "docs": "documentation",
    "i18n": "internationalization",
    "js": "javascript",
    "k8s": "kubernetes",
    "l10n": "localization",
    "o11y": "observability",
    "pg": "postgres",
    "ppt": "powerpoint",
    "py": "python",
    "repo": "repository",
    "repos": "repositories",
    "tf": "terraform",
    "ts": "typescript",
    "xls": "excel",
    "xlsx": "excel",
    "yml": "yaml",
}


class RelaxedText(msgspec.Struct, frozen=True):
    text: str
    any_word: bool = False


def vocabulary_of(hit: SkillHit) -> list[str]:
    """Return the distinct words of a skill that a typo can be corrected to."""
    found = words_of(" ".join((hit.name, hit.slug, hit.description, *hit.tags)))
    return [word for word in set(found) if is_kept(word)]


def count_words(connection: apsw.Connection, changes: Mapping[str, int]) -> None:
    """Update how many skills use each word, and delete words that no skill uses."""
    changed = {word: by for word, by in changes.items() if by}
    if not changed:
        return
    asked = {"words": encode(sorted(changed)).decode()}
    known = {word for (word,) in connection.execute(SEARCH["known_words"], asked)}
    counts = [(word, by, letters(word)) for word, by in sorted(changed.items())]
    connection.execute(WRITE["count_words"], {"rows": encode(counts).decode()})
    if new := set(changed) - known:
        connection.execute(WRITE["add_word_keys"], {"rows": key_rows(new)})
    unused = {word for (word,) in connection.execute(WRITE["unused_words"], asked)}
    if unused:
        connection.execute(WRITE["delete_word_keys"], {"rows": key_rows(unused)})
        connection.execute(WRITE["delete_words"], {"words": encode(sorted(unused)).decode()})


def relax_texts(connection: apsw.Connection, texts: Sequence[str]) -> list[list[RelaxedText]]:
    """Return for each of these texts without a match what to search for instead, closest first."""
    asked = [query_words(text) for text in texts]
    telling = [
        [_ABBREVIATIONS.get(word, word) for word in words if word not in _STOP_WORDS] or words
        for words in asked
    ]
    right = _correct(connection, {word for words in telling for word in words})
    return [
        _relaxed(words, [right[word] for word in some if word in right])
        for words, some in zip(asked, telling, strict=True)
    ]


def _relaxed(words: list[str], corrected: list[str]) -> list[RelaxedText]:
    if not corrected:
        return []
    nearest = " ".join(corrected)
    relaxed = [RelaxedText(nearest)] if corrected != words else []
    if len(corrected) > 1:
        relaxed.append(RelaxedText(nearest, any_word=True))
    return relaxed


def _correct(connection: apsw.Connection, words: Collection[str]) -> dict[str, str]:
    """Return each word unchanged if a public skill contains it, or else the most similar word."""
    right = {word: word for word in words if not is_kept(word)}
    for most in (1, 2):
        asked = [
            word for word in words if word not in right and (most == 1 or len(word) > ONE_EDIT)
        ]
        for word, similar in similar_words(connection, asked, most).items():
            if found := closest(word, similar, most):
                right[word] = found
    return right
