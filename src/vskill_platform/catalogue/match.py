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
    question_parts,
    question_words,
    singular,
    with_singulars,
)

_FILTER, _WHOLE, _NAMED, _LABELLED = "§", "‡", "¤", "†"
#: The same of what begins so: the index would have to gather that each time anew, from all words
#: that do.
_WHOLE_START, _NAMED_START, _LABELLED_START, _DESCRIBED_START = "¶", "¦", "¬", "¯"
#: How many letters such a mark has. By one or two of a label nearly every skill would be found; and
#: what begins with nine is soon gathered from all descriptions.
_OF_NAMES, _OF_LABELS, _OF_DESCRIPTIONS = range(1, 13), range(3, 13), range(3, 9)
#: Every skill has this one: what is asked for when nothing is.
ANY = f"{_FILTER}any"
PRIVATE = f"{_FILTER}private"
#: An expression that no skill fits.
NOTHING = f'"{_FILTER}nothing"'


class Way(StrEnum):
    """How it is looked for; each only if the one before finds nothing."""

    WORDS = "words"
    ANYWHERE = "anywhere"
    PARTS = "parts"


class Facet(StrEnum):
    NAMESPACE = "namespace"
    TIER = "tier"
    TAG = "tag"
    AGENT = "agent"


#: The agent of skills that name none: they work with all.
ANY_AGENT = ""


class Expressions(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for, in each way and in each degree."""

    #: Every word is there, and the last may be the beginning of one in a name or a label.
    words: str
    #: The last word may be the beginning of any.
    anywhere: str = NOTHING
    #: Names in which each part of the question occurs.
    parts: str = NOTHING
    #: Of what the words find the best comes first: the name is exactly this.
    exact: str = NOTHING
    #: The name begins with this.
    begins: str = NOTHING
    #: The name has all of the words.
    named: str = NOTHING
    #: The name and the labels have all of the words.
    labelled: str = NOTHING

    def by(self, way: Way) -> str:
        return str(getattr(self, way))


def mark(facet: Facet, value: str) -> str:
    """Return the mark of skills that have this value; a digest, as a value may be any text."""
    digest = hashlib.blake2b(value.encode(errors="replace"), digest_size=12).hexdigest()
    return f"{_FILTER}{facet}{digest}"


def name_marks(words: list[str]) -> list[str]:
    """Return the marks by which a name is found as a whole, by its words, and while it is typed."""
    whole = as_one_word(words)
    return [
        _WHOLE + whole,
        *_starts([whole], _WHOLE_START, _OF_NAMES),
        *(_NAMED + word for word in with_singulars(words)),
        *_starts(words, _NAMED_START, _OF_NAMES),
    ]


def label_marks(words: list[str]) -> list[str]:
    """Return the marks by which name, tags, namespace and repo are found while they are typed."""
    return [
        *(_LABELLED + word for word in with_singulars(words)),
        *_starts(words, _LABELLED_START, _OF_LABELS),
    ]


def description_marks(words: list[str]) -> list[str]:
    return _starts(words, _DESCRIBED_START, _OF_DESCRIPTIONS)


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
        asked = _quoted(ANY) if not query.text.strip() else NOTHING
        return Expressions(words=limited(asked))
    whole = as_one_word(words)
    last = words[-1]
    named = _quoted(_NAMED_START + last[: _OF_NAMES[-1]])
    # Names are among the labels.
    is_label = len(last) in _OF_LABELS or len(last) > _OF_LABELS[-1]
    labelled = _quoted(_LABELLED_START + last[: _OF_LABELS[-1]]) if is_label else named
    parts = [_quoted(part) for part in question_parts(words)]
    return Expressions(
        words=limited(_all_of(words, "", labelled)),
        anywhere=limited(_anywhere(words)),
        parts=limited(" AND ".join(parts)) if parts else NOTHING,
        exact=limited(_quoted(_WHOLE + whole)),
        begins=limited(_begins(whole, _WHOLE, _WHOLE_START, _OF_NAMES)),
        named=limited(_all_of(words, _NAMED, named)),
        labelled=limited(_all_of(words, _LABELLED, labelled)),
    )


def beginnings(words: list[str]) -> str:
    """Return an expression for all of these words or what begins with them."""
    return " AND ".join(_beginning(word) for word in words)


def _all_of(words: list[str], mark: str, begun: str) -> str:
    """Look for all words that have this mark; the last may be what *begun* finds."""
    *before, last = (_quoted(mark + singular(word)) for word in words)
    return " AND ".join([*before, f"({last} OR {begun})"])


def _anywhere(words: list[str]) -> str:
    """Look for what begins with the last word among all words, if that is enough to go by.

    To gather what begins with one or two letters takes long: beside other words it is left out.
    """
    *before, last = words
    known = [_quoted(singular(word)) for word in before]
    if known and len(last) < _OF_DESCRIPTIONS[0]:
        return " AND ".join(known)
    begun = _begins(last, "", _DESCRIBED_START, _OF_DESCRIPTIONS)
    return " AND ".join([*known, begun])


def without_filters(query: SkillQuery) -> SkillQuery:
    return msgspec.structs.replace(query, namespace="", tier="", tag="", agent="")


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


def _starts(words: list[str], start: str, lengths: range) -> list[str]:
    return [start + word[:length] for word in words for length in lengths if length <= len(word)]


def _begins(word: str, mark: str, start: str, lengths: range) -> str:
    """Look for what begins so by its mark, or else by all words that do."""
    return _quoted(start + word) if len(word) in lengths else _beginning(mark + word)


def _beginning(word: str) -> str:
    return f"{_quoted(word)} *"


def _quoted(word: str) -> str:
    # Neither a word nor a mark has a quote in it: words_of() leaves none.
    return f'"{word}"'
