"""Search for corrected or fewer words if a search matched nothing, in the same call of a thread.

vocabulary.py corrects the words. All queries of a call are corrected together, because a call takes
about as long as a search. While the event loop is busy, so does each SQL query of the call: its
thread waits for the interpreter lock.
"""

from collections.abc import Mapping, Sequence

import apsw
import msgspec

from vskill_platform.catalogue.match import without_filters
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


def _search_relaxed(
    connection: apsw.Connection, queries: Mapping[int, SkillQuery]
) -> dict[int, SkillResults]:
    """Search again for queries without a match: with corrected words, then with any of the words.

    The result contains only queries that match now. Whether a query matches is decided without its
    filters, because a filter that excludes everything is not a typo.
    """
    filtered = _totals_without_filters(connection, queries)
    left = {number: query for number, query in queries.items() if not filtered.get(number)}
    texts = relax_texts(connection, [query.text for query in left.values()])
    waiting = dict(zip(left, texts, strict=True))
    found: dict[int, SkillResults] = {}
    while waiting := {number: texts for number, texts in waiting.items() if texts}:
        tried = {number: texts.pop(0) for number, texts in waiting.items()}
        matching = _search_instead(connection, left, tried)
        found |= matching
        waiting = {number: texts for number, texts in waiting.items() if number not in matching}
    return found


def _search_instead(
    connection: apsw.Connection,
    queries: Mapping[int, SkillQuery],
    texts: Mapping[int, RelaxedText],
) -> dict[int, SkillResults]:
    """Search for these texts instead; leave out texts without a match even without filters."""
    instead = {
        number: msgspec.structs.replace(queries[number], text=one.text, any_word=one.any_word)
        for number, one in texts.items()
    }
    filtered = _totals_without_filters(connection, instead)
    asked = {number: query for number, query in instead.items() if filtered.get(number, 1)}
    results = search_some(connection, [Question(query) for query in asked.values()])
    return {
        number: _as_relaxed(found, texts[number])
        for number, (found, _) in zip(asked, results, strict=True)
        if found.total or number in filtered
    }


def _as_relaxed(found: SkillResults, text: RelaxedText) -> SkillResults:
    following = found.next and msgspec.structs.replace(
        found.next, text=text.text, any_word=text.any_word
    )
    return msgspec.structs.replace(
        found, searched_for=text.text, is_any_word=text.any_word, next=following
    )


def _totals_without_filters(
    connection: apsw.Connection, queries: Mapping[int, SkillQuery]
) -> dict[int, int]:
    """Count the matches of each query that has filters, without its filters."""
    bare = {
        number: msgspec.structs.replace(
            without_filters(query),
            sort=SkillSort.RELEVANCE,
            offset=0,
            limit=0,
            with_facets=False,
        )
        for number, query in queries.items()
        if without_filters(query) != query
    }
    counted = search_some(connection, [Question(query) for query in bare.values()])
    return {number: found.total for number, (found, _) in zip(bare, counted, strict=True)}
