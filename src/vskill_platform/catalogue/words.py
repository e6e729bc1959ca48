"""Split text into words: the same rule for indexing and searching.

The index sees only the output of this module, words separated by spaces. So no text can have
another meaning to it.
"""

import re
import unicodedata
from functools import lru_cache

#: A longer word is cut, in the index as in a query.
MAX_WORD = 48
#: Only this much of a query is read.
MAX_QUESTION_CHARACTERS = 300
MAX_QUESTION_WORDS = 12

_WORD = re.compile(r"[^\W_]+")
#: Writing systems without spaces between words: each character is a word.
_SPACELESS = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
#: Joins the words of a name that is searched as a whole; it is part of no word.
JOINT = "\u2010"
#: The shortest part of a name that is searched inside words.
_PART = 3
#: English words that look like a plural but are not, and plurals that end in more than an s.
_NO_PLURAL = ("ss", "us", "is")
_ES_PLURAL = ("sses", "shes", "ches", "xes", "zes")
_SHORTEST_PLURAL = 4
#: Most texts consist of the same words.
_REMEMBERED = 20_000


def words_of(text: str) -> list[str]:
    """Return the words of *text* in order, without case, accents and punctuation."""
    if not text.isascii():
        text = _plain(text)
    return [word[:MAX_WORD] for word in _WORD.findall(text.lower())]


def question_words(text: str) -> list[str]:
    """Return the words of a query; may be empty."""
    return words_of(text[:MAX_QUESTION_CHARACTERS])[:MAX_QUESTION_WORDS]


@lru_cache(_REMEMBERED)
def singular(word: str) -> str:
    """Return a plural's singular, and any other word unchanged."""
    if len(word) < _SHORTEST_PLURAL or word[-1] != "s" or word.endswith(_NO_PLURAL):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(_ES_PLURAL) else word[:-1]


def with_singulars(words: list[str]) -> list[str]:
    """Add the singular of each plural, so that one finds the other."""
    singulars = (singular(word) for word in words)
    return words + [one for word, one in zip(words, singulars, strict=True) if one != word]


def as_one_word(words: list[str]) -> str:
    """Return a name as one word, so that a whole name or its prefix can be searched."""
    return JOINT.join(words)


def name_parts(words: list[str]) -> list[str]:
    """Return the parts that find a name: every three and every four of its characters."""
    whole = as_one_word(words)
    return [*_parts(whole, _PART), *_parts(whole, _PART + 1)]


def question_parts(words: list[str]) -> list[str]:
    """Return the parts of a query, longer ones if possible: fewer names have each."""
    whole = as_one_word(words)
    return _parts(whole, _PART + 1) or _parts(whole, _PART)


def _parts(whole: str, length: int) -> list[str]:
    return list(dict.fromkeys(whole[at : at + length] for at in range(len(whole) - length + 1)))


def _plain(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in spread if not unicodedata.combining(sign))
    return _SPACELESS.sub(r" \g<0> ", unicodedata.normalize("NFC", bare))
