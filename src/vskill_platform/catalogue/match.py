"""A question as expressions of the full-text index: how each degree of fit is looked up.

Beside its words every skill has marks in the index: for each value that a filter may have, for its
whole name and for the words of its name. A mark begins with a sign that no word can have. So a
filter, however rare or common its value, costs no more than one more word.
"""

import hashlib
from enum import StrEnum

import msgspec

from vskill_platform.catalogue.query import SkillQuery, Visible
from vskill_platform.catalogue.words import (
    as_one_word,
    parts_of,
    question_words,
    singular,
    with_singulars,
)

_FILTER, _WHOLE, _NAMED = "§", "‡", "¤"
#: Every skill has this one: what is asked for when nothing is.
ANY = f"{_FILTER}any"
PRIVATE = f"{_FILTER}private"
#: Beginnings up to this length have an index of their own (schema.sql).
LONGEST_INDEXED_BEGINNING = 4


class Facet(StrEnum):
    NAMESPACE = "namespace"
    TIER = "tier"
    TAG = "tag"
    AGENT = "agent"


#: The agent of skills that name none: they work with all.
ANY_AGENT = ""


class Expressions(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for; from the best fit to the whole of the answer."""

    #: The name is exactly this; None where no words are asked for.
    exact: str | None = None
    #: The name begins with this.
    begins: str | None = None
    #: The name has all of the words.
    named: str | None = None
    #: All that fits.
    every: str
    #: For when nothing does: names in which each part of the question occurs.
    parts: str | None = None
    #: Whether looking one skill up in it is cheap: a long beginning is gathered anew each time.
    is_quick: bool = True


def mark(facet: Facet, value: str) -> str:
    """Return the mark of skills that have this value; a digest, as a value may be any text."""
    digest = hashlib.blake2b(value.encode(errors="replace"), digest_size=12).hexdigest()
    return f"{_FILTER}{facet}{digest}"


def name_marks(words: list[str]) -> list[str]:
    """Return the marks by which a name is found as a whole, and by its words."""
    return [_WHOLE + as_one_word(words), *(_NAMED + word for word in with_singulars(words))]


def expressions_of(query: SkillQuery, *, without: Facet | None = None) -> Expressions:
    """Say how to look for it; *without* one filter, to count what its other values would leave."""
    words = question_words(query.text)
    limits = [
        _any_of([mark(facet, value) for value in values])
        for facet, values in _filters(query)
        if facet is not without
    ]

    def limited(expression: str) -> str:
        within = " AND ".join([f"({expression})", *limits])
        hidden = _hidden_from(query.visible)
        return f"({within}) NOT ({hidden})" if hidden else within

    if not words:
        # A question without a single word is still one, and nothing fits it.
        asked = _quoted(ANY) if not query.text.strip() else _quoted(f"{_FILTER}nothing")
        return Expressions(every=limited(asked))
    whole = _WHOLE + as_one_word(words)
    every = _all_words(words)
    parts = [_quoted(part) for part in parts_of(words)]
    return Expressions(
        exact=limited(_quoted(whole)),
        begins=limited(_beginning(whole)),
        named=limited(f"({_all_words(words, sign=_NAMED)}) AND ({every})"),
        every=limited(every),
        parts=limited(" AND ".join(parts)) if parts else None,
        is_quick=len(words[-1]) <= LONGEST_INDEXED_BEGINNING,
    )


def beginnings(words: list[str]) -> str:
    """Return an expression for all of these words or what begins with them."""
    return " AND ".join(_beginning(word) for word in words)


def _filters(query: SkillQuery) -> list[tuple[Facet, tuple[str, ...]]]:
    chosen = [
        (Facet.NAMESPACE, (query.namespace,)),
        (Facet.TIER, (query.tier,)),
        (Facet.TAG, (query.tag,)),
        (Facet.AGENT, (query.agent, ANY_AGENT)),
    ]
    return [(facet, values) for facet, values in chosen if values[0]]


def _hidden_from(visible: Visible) -> str:
    if visible.is_all:
        return ""
    if not visible.namespaces:
        return _quoted(PRIVATE)
    own = [mark(Facet.NAMESPACE, namespace) for namespace in sorted(visible.namespaces)]
    return f"{_quoted(PRIVATE)} NOT {_any_of(own)}"


def _all_words(words: list[str], *, sign: str = "") -> str:
    *before, last = words
    whole = [_quoted(sign + singular(word)) for word in before]
    return " AND ".join([*whole, f"({_word_or_beginning(last, sign)})"])


def _word_or_beginning(word: str, sign: str) -> str:
    """Take the last word for one that is still being typed."""
    if len(word) == 1 and not sign:
        # So many words begin with one letter that only those of names are meant.
        return f"{_quoted(word)} OR {_beginning(_NAMED + word)}"
    ways = [_beginning(sign + word)]
    if singular(word) != word:
        ways.append(_quoted(sign + singular(word)))
    return " OR ".join(ways)


def _any_of(marks: list[str]) -> str:
    return "(" + " OR ".join(_quoted(one) for one in marks) + ")"


def _beginning(word: str) -> str:
    return f"{_quoted(word)} *"


def _quoted(word: str) -> str:
    # Neither a word nor a mark has a quote in it: words_of() leaves none.
    return f'"{word}"'
