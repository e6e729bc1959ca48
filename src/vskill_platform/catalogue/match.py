"""A question as expressions of the full-text index: how each degree of fit is looked up.

Beside its words every skill has marks in the index: for each value that a filter may have, for its
whole name, for each word of its name and of its labels, and for how these begin. A mark begins with
a sign that no word has. So a filter, however rare or common its value, costs no more than one more
word; and what is still being typed is looked for among names and labels, not among all words of all
descriptions.
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

_FILTER, _WHOLE, _NAMED, _LABELLED = "§", "‡", "¤", "†"
#: The same of what begins so, in up to as many letters: an index would have to gather what begins
#: with so few each time anew.
_WHOLE_START, _NAMED_START, _LABELLED_START = "¶", "¦", "¬"
_START = 3
#: Every skill has this one: what is asked for when nothing is.
ANY = f"{_FILTER}any"
PRIVATE = f"{_FILTER}private"


class Facet(StrEnum):
    NAMESPACE = "namespace"
    TIER = "tier"
    TAG = "tag"
    AGENT = "agent"


#: The agent of skills that name none: they work with all.
ANY_AGENT = ""


class Expressions(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for: the answer, the better degrees of fit in it, and what to do without one."""

    #: What is asked for, as one word; None where no words are.
    whole: str | None = None
    words: tuple[str, ...] = ()
    #: The name is exactly this.
    exact: str | None = None
    #: The name begins with this.
    begins: str | None = None
    #: The name has all of the words.
    named: str | None = None
    #: All that fits: every word is there, and the last may be the beginning of one in a name or
    #: a label.
    every: str
    #: For when nothing does: the last word may be the beginning of any.
    anywhere: str | None = None
    #: For when nothing does even so: names in which each part of the question occurs.
    parts: str | None = None


def mark(facet: Facet, value: str) -> str:
    """Return the mark of skills that have this value; a digest, as a value may be any text."""
    digest = hashlib.blake2b(value.encode(errors="replace"), digest_size=12).hexdigest()
    return f"{_FILTER}{facet}{digest}"


def name_marks(words: list[str]) -> list[str]:
    """Return the marks by which a name is found as a whole, by its words, and while it is typed."""
    whole = as_one_word(words)
    starts = {_NAMED_START + word[:length] for word in words for length in range(1, _START + 1)}
    return [
        _WHOLE + whole,
        *(_WHOLE_START + whole[:length] for length in range(1, min(_START, len(whole)) + 1)),
        *(_NAMED + word for word in with_singulars(words)),
        *sorted(starts),
    ]


def label_marks(words: list[str]) -> list[str]:
    """Return the marks by which tags, namespace and repo are found while they are typed.

    Not by one or two letters: so nearly every skill would be.
    """
    starts = {_LABELLED_START + word[:_START] for word in words if len(word) >= _START}
    return [*(_LABELLED + word for word in words), *sorted(starts)]


def expressions_of(query: SkillQuery, *, without: Facet | None = None) -> Expressions:
    """Say how to look for it; *without* one filter, to count what its other values would leave."""
    words = question_words(query.text)
    limits = [
        _any_of([mark(facet, value) for value in values])
        for facet, values in filters_of(query)
        if facet is not without
    ]
    hidden = _hidden_from(query.visible)

    def limited(expression: str) -> str:
        within = " AND ".join([f"({expression})", *limits])
        return f"({within}) NOT ({hidden})" if hidden else within

    if not words:
        # A question without a single word is still one, and nothing fits it.
        asked = _quoted(ANY) if not query.text.strip() else _quoted(f"{_FILTER}nothing")
        return Expressions(every=limited(asked))
    whole = as_one_word(words)
    parts = [_quoted(part) for part in parts_of(words)]
    return Expressions(
        whole=whole,
        words=tuple(words),
        exact=limited(_quoted(_WHOLE + whole)),
        begins=limited(_start(whole, _WHOLE, _WHOLE_START)),
        named=limited(_named(words)),
        every=limited(_every(words)),
        anywhere=limited(_anywhere(words)),
        parts=limited(" AND ".join(parts)) if parts else None,
    )


def beginnings(words: list[str]) -> str:
    """Return an expression for all of these words or what begins with them."""
    return " AND ".join(_beginning(word) for word in words)


def _every(words: list[str]) -> str:
    *before, last = words
    ways = [_quoted(singular(last)), _start(last, _NAMED, _NAMED_START)]
    if len(last) >= _START:
        ways.append(_start(last, _LABELLED, _LABELLED_START))
    return " AND ".join([*(_quoted(singular(word)) for word in before), f"({' OR '.join(ways)})"])


def _named(words: list[str]) -> str:
    *before, last = words
    ways = f"({_quoted(_NAMED + singular(last))} OR {_start(last, _NAMED, _NAMED_START)})"
    return " AND ".join([*(_quoted(_NAMED + singular(word)) for word in before), ways])


def _anywhere(words: list[str]) -> str:
    *before, last = words
    return " AND ".join([*(_quoted(singular(word)) for word in before), _beginning(last)])


def filters_of(query: SkillQuery) -> list[tuple[Facet, tuple[str, ...]]]:
    """Return by which filters it is asked, each with the values of which one must be there."""
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


def _any_of(marks: list[str]) -> str:
    return "(" + " OR ".join(_quoted(one) for one in marks) + ")"


def _start(word: str, mark: str, start: str) -> str:
    return _quoted(start + word) if len(word) <= _START else _beginning(mark + word)


def _beginning(word: str) -> str:
    return f"{_quoted(word)} *"


def _quoted(word: str) -> str:
    # Neither a word nor a mark has a quote in it: words_of() leaves none.
    return f'"{word}"'
