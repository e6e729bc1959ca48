"""Translate a query into full-text expressions, one for each degree of match.

Besides its words every skill has marks in the index: for each filter value, for its whole name, for
each word of its name and labels, and for their prefixes. A mark begins with a character that no
word has. So a filter, however rare or common its value, costs no more than one more word; and a
partly typed word is searched among names and labels, not among all words of all descriptions.
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
#: The same for prefixes: the index would have to collect these each time from all matching words.
_WHOLE_START, _NAMED_START, _LABELLED_START, _DESCRIBED_START = "¶", "¦", "¬", "¯"
#: How many letters such a mark has. One or two letters of a label would match nearly every skill;
#: and nine letters are quickly collected from all descriptions.
_OF_NAMES, _OF_LABELS, _OF_DESCRIPTIONS = range(1, 13), range(3, 13), range(3, 9)
#: Every skill has this one: it matches an empty query.
ANY = f"{_FILTER}any"
PRIVATE = f"{_FILTER}private"
#: An expression that matches no skill.
NOTHING = f'"{_FILTER}nothing"'


class Way(StrEnum):
    """How to search; each way only if the one before finds nothing."""

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
    """The expressions for each way and degree."""

    #: Every word matches, and the last may be a prefix in a name or a label.
    words: str
    #: The last word may be a prefix of any word.
    anywhere: str = NOTHING
    #: Names that contain each part of the query.
    parts: str = NOTHING
    #: Of the matches, the best come first: the name is exactly this.
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
    """Return the mark of a filter value; a digest, because a value may be any text."""
    digest = hashlib.blake2b(value.encode(errors="replace"), digest_size=12).hexdigest()
    return f"{_FILTER}{facet}{digest}"


def name_marks(words: list[str]) -> list[str]:
    """Return the marks of a name: the whole, its words, and their prefixes."""
    whole = as_one_word(words)
    return [
        _WHOLE + whole,
        *_starts([whole], _WHOLE_START, _OF_NAMES),
        *(_NAMED + word for word in with_singulars(words)),
        *_starts(words, _NAMED_START, _OF_NAMES),
    ]


def label_marks(words: list[str]) -> list[str]:
    """Return the prefix marks of name, tags, namespace and repo."""
    return [
        *(_LABELLED + word for word in with_singulars(words)),
        *_starts(words, _LABELLED_START, _OF_LABELS),
    ]


def description_marks(words: list[str]) -> list[str]:
    return _starts(words, _DESCRIBED_START, _OF_DESCRIPTIONS)


def expressions_of(query: SkillQuery, *, without: Facet | None = None) -> Expressions:
    """Return the expressions; *without* one filter, to count the matches of its other values."""
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
        # A query without a single word is still one, and nothing matches it.
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
    """Return an expression for all of these words or prefixes."""
    return " AND ".join(_beginning(word) for word in words)


def _all_of(words: list[str], mark: str, begun: str) -> str:
    """Search all words with this mark; the last may match *begun*."""
    *before, last = (_quoted(mark + singular(word)) for word in words)
    return " AND ".join([*before, f"({last} OR {begun})"])


def _anywhere(words: list[str]) -> str:
    """Search the last word as a prefix among all words, if it is long enough.

    Collecting the matches of one or two letters is slow: next to other words it is skipped.
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
    """Return the filters of a query, each with its values, of which one must match."""
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
    """Search a prefix by its mark, or else by all words that begin with it."""
    return _quoted(start + word) if len(word) in lengths else _beginning(mark + word)


def _beginning(word: str) -> str:
    return f"{_quoted(word)} *"


def _quoted(word: str) -> str:
    # Neither a word nor a mark contains a quote: words_of() removes them.
    return f'"{word}"'
