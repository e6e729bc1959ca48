"""Searching skills: a page of hits, how many there are in all, and what filters would leave."""

from collections.abc import Mapping
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import Expressions, Facet, expressions_of
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    SkillHit,
    SkillQuery,
    SkillResults,
    SkillSort,
    Suggestion,
)
from vskill_platform.catalogue.sql import SEARCH, SEARCH_PARTS, one_value

#: Of each degree of fit so many are weighed against each other; the first pages are of these.
POOL = 200
#: Who lists more values than this helps nobody to choose.
MAX_FACET_VALUES = 50
#: Looking one skill up in the index costs as much as reading and sorting so many fits.
_LOOKUP_COST = 12
_MAX_OFFSET = 2**31

_HITS = msgspec.json.Decoder(list[SkillHit])
_SUGGESTIONS = msgspec.json.Decoder(list[Suggestion])
_FACETS = msgspec.json.Decoder(list[tuple[str, int]])


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted for a question: true until a skill comes, goes or changes its words."""

    #: How many have the words; if none has, names that contain them are looked for.
    with_words: int
    total: int
    facets: dict[str, list[tuple[str, int]]] | None = None


class _Way(msgspec.Struct, frozen=True):
    """Where to look, and for what."""

    queries: Mapping[str, str]
    look_for: Expressions


def search(
    connection: apsw.Connection, query: SkillQuery, known: Known | None
) -> tuple[SkillResults, Known]:
    """Return a page, and what need not be counted again."""
    look_for = expressions_of(query)
    known = known or _count_all(connection, look_for)
    if query.with_facets and known.facets is None:
        facets = {facet.value: _count_values(connection, query, known, facet) for facet in Facet}
        known = msgspec.structs.replace(known, facets=facets)
    results = SkillResults(
        hits=_HITS.decode(_find_page(connection, query, look_for, known)),
        total=known.total,
        facets=known.facets if query.with_facets else None,
    )
    return results, known


def suggest(connection: apsw.Connection, query: SkillQuery) -> list[Suggestion]:
    """Return the first hits without counting the others."""
    look_for = expressions_of(query)
    if look_for.exact is None:
        return []
    found = _SUGGESTIONS.decode(_best_fitting(connection, query, look_for))
    if found or look_for.parts is None:
        return found
    way = _way(look_for, is_by_parts=True)
    return _SUGGESTIONS.decode(_by_rank(connection, query, way))


def _count_all(connection: apsw.Connection, look_for: Expressions) -> Known:
    with_words = _count(connection, _way(look_for, is_by_parts=False))
    total = with_words
    if not with_words and look_for.parts:
        total = _count(connection, _way(look_for, is_by_parts=True))
    return Known(with_words=with_words, total=total)


def _count(connection: apsw.Connection, way: _Way) -> int:
    return int(one_value(connection, way.queries["count"], {"every": way.look_for.every}))


def _way(look_for: Expressions, *, is_by_parts: bool) -> _Way:
    if is_by_parts and look_for.parts:
        return _Way(SEARCH_PARTS, Expressions(every=look_for.parts))
    return _Way(SEARCH, look_for)


def _find_page(
    connection: apsw.Connection, query: SkillQuery, look_for: Expressions, known: Known
) -> Any:
    if not known.total or not query.limit:
        return "[]"
    way = _way(look_for, is_by_parts=not known.with_words)
    if query.sort is not SkillSort.RELEVANCE:
        return _by_sort(connection, query, way, known.total)
    if way.look_for.exact is None:
        return _by_rank(connection, query, way)
    return _best_fitting(connection, query, way.look_for)


def _by_rank(connection: apsw.Connection, query: SkillQuery, way: _Way) -> Any:
    bindings = {"every": way.look_for.every, **_page(query)}
    return one_value(connection, way.queries["first_ranked"], bindings)


def _best_fitting(connection: apsw.Connection, query: SkillQuery, look_for: Expressions) -> Any:
    page = _page(query)
    end = page["offset"] + page["limit"]
    bindings = {
        "exact": look_for.exact,
        "begins": look_for.begins,
        "named": look_for.named,
        "every": look_for.every,
        "pool": POOL,
        # All of the pool may be in front of what comes by rank alone.
        "deep": end + 4 * POOL if end > POOL else 0,
        **page,
    }
    return one_value(connection, SEARCH["best_fitting"], bindings)


def _by_sort(connection: apsw.Connection, query: SkillQuery, way: _Way, total: int) -> Any:
    page = _page(query)
    skills = one_value(connection, SEARCH["count_skills"], {})
    looked_up = (page["offset"] + page["limit"]) * skills / total
    is_dense = way.look_for.is_quick and looked_up * _LOOKUP_COST < total
    name = f"walk_{query.sort}" if is_dense else "sorted"
    bindings = {"every": way.look_for.every, "sort": query.sort.value, **page}
    return one_value(connection, way.queries[name], bindings)


def _count_values(
    connection: apsw.Connection, query: SkillQuery, known: Known, facet: Facet
) -> list[tuple[str, int]]:
    """Count what each value of a filter would leave, beside the other filters."""
    look_for = expressions_of(query, without=facet)
    way = _way(look_for, is_by_parts=not known.with_words)
    bindings = {"every": way.look_for.every, "values": MAX_FACET_VALUES}
    return _FACETS.decode(one_value(connection, way.queries[f"facet_{facet}"], bindings))


def _page(query: SkillQuery) -> dict[str, int]:
    return {
        "limit": min(max(query.limit, 0), MAX_LIMIT),
        "offset": min(max(query.offset, 0), _MAX_OFFSET),
    }
