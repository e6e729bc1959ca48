"""The words of public skills: kept while skills change, and used to correct typos in a query.

Similar words are found by the keys that they share: a short word by what is left when one letter is
deleted, a long one by its trigrams. Words of private skills are not kept, so that a correction
never shows one.
"""

from collections.abc import Mapping

import apsw
import msgspec

from vskill_platform.catalogue.query import SkillHit
from vskill_platform.catalogue.sql import SEARCH, WRITE
from vskill_platform.catalogue.words import question_words, singular, words_of

#: Words that say little; they are left out if nothing contains all words of a query.
_STOP_WORDS = frozenset(
    words_of(
        "a an and are as at be by can do for from how i in into is it me my need of on or skill "
        "skills some something that the this to use using want which with you your"
    )
)
#: Shorter and longer words are neither kept nor corrected.
_SHORTEST, _LONGEST = 3, 24
#: Lengths up to which a word has keys with a letter deleted, and from which it has trigrams.
_MAX_DELETED, _MIN_TRIGRAMS = 8, 6
#: Words of at most this length are corrected by one edit, longer ones by two.
_ONE_EDIT = 5
#: How many similar words are compared letter by letter.
_COMPARED = 20
_encode = msgspec.json.Encoder().encode


class RelaxedText(msgspec.Struct, frozen=True):
    text: str
    any_word: bool = False


def vocabulary_of(hit: SkillHit) -> list[str]:
    """Return the distinct words of a skill that a typo can be corrected to."""
    found = words_of(" ".join((hit.name, hit.slug, hit.description, *hit.tags)))
    return [word for word in dict.fromkeys(found) if _is_kept(word)]


def count_words(connection: apsw.Connection, changes: Mapping[str, int]) -> None:
    """Count words that more or fewer skills use, and forget those that none uses."""
    changed = {word: by for word, by in changes.items() if by}
    if not changed:
        return
    asked = {"words": _encode(sorted(changed)).decode()}
    known = {word for (word,) in connection.execute(SEARCH["known_words"], asked)}
    connection.executemany(
        WRITE["count_word"], [{"word": word, "count": by} for word, by in sorted(changed.items())]
    )
    connection.executemany(WRITE["add_word_key"], _rows(set(changed) - known))
    unused = {word for (word,) in connection.execute(WRITE["unused_words"], asked)}
    connection.executemany(WRITE["delete_word_key"], _rows(unused))
    connection.executemany(WRITE["delete_word"], [{"word": word} for word in sorted(unused)])


def relax_text(connection: apsw.Connection, text: str) -> list[RelaxedText]:
    """Return what to search for if nothing matches *text*, the closest first."""
    words = question_words(text)
    telling = [word for word in words if word not in _STOP_WORDS] or words
    corrected = [right for word in telling if (right := _correct(connection, word))]
    if not corrected:
        return []
    closest = " ".join(corrected)
    relaxed = [RelaxedText(closest)] if corrected != words else []
    if len(corrected) > 1:
        relaxed.append(RelaxedText(closest, any_word=True))
    return relaxed


def _correct(connection: apsw.Connection, word: str) -> str | None:
    """Return the word itself if a public skill has it, else the most similar one, if any."""
    if not _is_kept(word):
        return word
    forms = {"words": _encode([word, singular(word)]).decode()}
    if connection.execute(SEARCH["known_words"], forms).fetchone():
        return word
    most = 1 if len(word) <= _ONE_EDIT else 2
    asked = {
        "keys": _encode(_keys(word, slack=most)).decode(),
        "shortest": len(word) - most,
        "longest": len(word) + most,
        "limit": _COMPARED,
    }
    found = [
        (distance, -count, similar)
        for similar, count in connection.execute(SEARCH["similar_words"], asked)
        if (distance := edit_distance(word, similar, most)) <= most
    ]
    return min(found)[2] if found else None


def edit_distance(one: str, other: str, most: int) -> int:
    """Count the letters to insert, delete, replace or swap; stop counting above *most*."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    one, other = _without_common_ends(one, other)
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            best = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and (letter, one[row - 2]) == (other[column - 2], wanted):
                best = min(best, before[column - 2] + 1)
            now.append(best)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    """Leave out what both start and end with: in a typo, that is most of the word."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    one, other = one[start:], other[start:]
    shorter -= start
    end = next((at for at in range(shorter) if one[-1 - at] != other[-1 - at]), shorter)
    return one[: len(one) - end], other[: len(other) - end]


def _is_kept(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isalpha()


def _keys(word: str, *, slack: int = 0) -> list[str]:
    """Return the keys of a word; with *slack*, also those of a word that many letters shorter."""
    keys = []
    if len(word) <= _MAX_DELETED + slack:
        keys = [f"-{word}", *(f"-{word[:at]}{word[at + 1 :]}" for at in range(len(word)))]
    if len(word) >= _MIN_TRIGRAMS - slack:
        padded = f"^{word}$"
        keys += [padded[at : at + 3] for at in range(len(padded) - 2)]
    return list(dict.fromkeys(keys))


def _rows(words: set[str]) -> list[dict[str, str]]:
    return [{"key": key, "word": word} for word in sorted(words) for key in _keys(word)]
