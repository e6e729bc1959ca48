"""Search for corrected or fewer words if a search matched nothing, in the same call of a thread.

vocabulary.py corrects the words. All queries of a call are corrected together, because a call takes
about as long as a search. While the event loop is busy, so does each SQL query of the call: its
thread waits for the interpreter lock.
"""

from collections.abc import Mapping, Sequence

import apsw
import msgspec

from vskill_platform.catalogue.match import filters_of, without_filters
from vskill_platform.catalogue.query import SkillQuery, SkillResults, SkillSort
from vskill_platform.catalogue.search_skills import KnownCounts, Question, search_some
from vskill_platform.catalogue.vocabulary import RelaxedText, relax_texts


def search_with_fallback(
    connection: apsw.Connection, questions: Sequence[Question]
) -> list[tuple[SkillResults, KnownCounts]]:
    """Return a page for each query like `search_some`; if it is empty, one for corrected words."""
    exact = search_some(connection, questions)
    unfound = {
        number: asked.query
        for number, (asked, (found, _)) in enumerate(zip(questions, exact, strict=True))
        if not found.total and asked.query.is_forgiving and asked.query.text.strip()
    }
    relaxed = _search_relaxed(connection, unfound) if unfound else {}
    return [(relaxed.get(number, found), known) for number, (found, known) in enumerate(exact)]


class _Try(msgspec.Struct, frozen=True):
    """Another text for a query without a match."""

    number: int
    text: RelaxedText
    query: SkillQuery


def _search_relaxed(
    connection: apsw.Connection, queries: Mapping[int, SkillQuery]
) -> dict[int, SkillResults]:
    """Search again for queries without a match: with corrected words, or with any of the words.

    The result contains only queries that match now. Whether a query matches is decided without its
    filters, because a filter that excludes everything is not a typo.
    """
    filtered = _totals_without_filters(connection, list(queries.values()))
    left = {
        number: query
        for (number, query), total in zip(queries.items(), filtered, strict=True)
        if not total
    }
    texts = relax_texts(connection, [query.text for query in left.values()])
    tries = [
        _Try(number, text, _with_text(query, text))
        for (number, query), some in zip(left.items(), texts, strict=True)
        for text in some
    ]
    return _search_instead(connection, tries)


def _with_text(query: SkillQuery, text: RelaxedText) -> SkillQuery:
    return msgspec.structs.replace(query, text=text.text, any_word=text.any_word)


def _search_instead(connection: apsw.Connection, tries: Sequence[_Try]) -> dict[int, SkillResults]:
    """Return the results of each query's first text that matches, at least without filters."""
    queries = [one.query for one in tries]
    filtered = _totals_without_filters(connection, queries)
    results = search_some(connection, [Question(query) for query in queries])
    best: dict[int, SkillResults] = {}
    for one, total, (found, _) in zip(tries, filtered, results, strict=True):
        if total or found.total:
            best.setdefault(one.number, _as_relaxed(found, one.text))
    return best


def _as_relaxed(found: SkillResults, text: RelaxedText) -> SkillResults:
    following = found.next and msgspec.structs.replace(
        found.next, text=text.text, any_word=text.any_word
    )
    return msgspec.structs.replace(
        found, searched_for=text.text, is_any_word=text.any_word, next=following
    )


def _totals_without_filters(
    connection: apsw.Connection, queries: Sequence[SkillQuery]
) -> list[int | None]:
    """Return how much each query matches without its filters; None if it has no filters."""
    bare = [_without_filters(query) if filters_of(query) else None for query in queries]
    asked = [Question(query) for query in bare if query]
    counted = iter(search_some(connection, asked) if asked else ())
    return [next(counted)[0].total if query else None for query in bare]


def _without_filters(query: SkillQuery) -> SkillQuery:
    return msgspec.structs.replace(
        without_filters(query),
        sort=SkillSort.RELEVANCE,
        offset=0,
        limit=0,
        with_facets=False,
    )
