"""Split text into words, in the same way for the index and for queries.

The full-text index gets only these words, separated by spaces, so no input can contain index
syntax.
"""

import re
import unicodedata
from functools import lru_cache

#: Longer words are truncated, in the index and in queries.
MAX_WORD = 48
#: The rest of a longer query is ignored.
MAX_QUESTION_CHARACTERS = 300
MAX_QUESTION_WORDS = 12

_WORD = re.compile(r"[^\W_]+")
#: Scripts without spaces between words: each character counts as a word.
_SPACELESS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
#: Joins the words of a name into one; no word contains it.
JOINT = "\u2010"
#: The minimum length of a match inside a word.
_PART = 3
#: Endings of English words that are not plurals, and plural endings longer than an s.
_NO_PLURAL = ("ss", "us", "is")
_ES_PLURAL = ("sses", "shes", "ches", "xes", "zes")
_SHORTEST_PLURAL = 4
#: Cache size; most texts use the same words.
_REMEMBERED = 20_000


def words_of(text: str) -> list[str]:
    """Return the words of *text* in order, in lower case, without accents and punctuation."""
    if not text.isascii():
        text = _plain(text)
    return [word[:MAX_WORD] for word in _WORD.findall(text.lower())]


def query_words(text: str) -> list[str]:
    """Return the words of a query; may be empty."""
    return words_of(text[:MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_WORDS]


@lru_cache(_REMEMBERED)
def singular(word: str) -> str:
    """Return the singular of a plural, and any other word unchanged."""
    if len(word) < _SHORTEST_PLURAL or word[-1] != "s" or word.endswith(_NO_PLURAL):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(_ES_PLURAL) else word[:-1]


def as_one_word(words: list[str]) -> str:
    """Return a name as one word, for matches of the whole name or its prefix."""
    return JOINT.join(words)


def name_parts(words: list[str]) -> list[str]:
    """Return all substrings of three and four characters of a name."""
    whole = as_one_word(words)
    return [*_parts(whole, _PART), *_parts(whole, _PART + 1)]


def query_parts(words: list[str]) -> list[str]:
    """Return the substrings of a query, of four characters if possible, to be more selective."""
    whole = as_one_word(words)
    return _parts(whole, _PART + 1) or _parts(whole, _PART)


def _parts(whole: str, length: int) -> list[str]:
    return list(dict.fromkeys(whole[at : at + length] for at in range(len(whole) - length + 1)))


def _plain(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in spread if not unicodedata.combining(sign))
    return _SPACELESS.sub(r" \g<0> ", unicodedata.normalize("NFC", bare))
