"""Searching skills: a page of hits, how many there are in all, and what filters would leave."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import Expressions, Facet, expressions_of, filters_of
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    SkillHit,
    SkillQuery,
    SkillResults,
    SkillSort,
    Suggestion,
    Visible,
)
from vskill_platform.catalogue.sql import SEARCH, SEARCH_PARTS, one_value
from vskill_platform.catalogue.words import JOINT

#: In a larger answer BM25 would weigh words that half of all skills have: it takes long and says
#: little. Its first pages are those whose names fit.
WEIGHED = 50
#: Who lists more values than this helps nobody to choose.
MAX_FACET_VALUES = 50
#: By which column each order is, and by which index it is read.
_ORDERS = {
    SkillSort.NEWEST: ("published_at", "published_at DESC", "skill_newest"),
    SkillSort.UPDATED: ("updated_at", "updated_at DESC", "skill_updated"),
    SkillSort.NAME: ("name_key", "name_key", "skill_name"),
    SkillSort.TRUST: ("trust_score", "trust_score DESC", "skill_trust"),
    SkillSort.INSTALLS: ("installs", "installs DESC", "skill_installs"),
}
#: Two ways to ask whether a skill fits, and as how many fits it costs to ask. One by one is quicker
#: as long as no words are asked for; else what begins with the last one is gathered each time anew.
_ONE_BY_ONE, _ALL_AT_ONCE = ("walk_one_by_one", 12.0), ("walk_all_at_once", 0.5)
_MAX_OFFSET = 2**31

_encode = msgspec.json.Encoder().encode
_HITS = msgspec.json.Decoder(list[SkillHit])
_SUGGESTIONS = msgspec.json.Decoder(list[Suggestion])
_FACETS = msgspec.json.Decoder(list[tuple[str, int]])


class Way(StrEnum):
    """How it is looked for; each only if the one before finds nothing."""

    WORDS = "words"
    ANYWHERE = "anywhere"
    PARTS = "parts"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted for a question: true until a skill comes, goes or changes its words."""

    way: Way
    total: int
    facets: dict[str, list[tuple[str, int]]] | None = None


class _Search(msgspec.Struct, frozen=True):
    """Where to look, and for what."""

    queries: Mapping[str, str]
    look_for: Expressions


def search(
    connection: apsw.Connection, query: SkillQuery, known: Known | None
) -> tuple[SkillResults, Known]:
    """Return a page, and what need not be counted again."""
    look_for = expressions_of(query)
    known = known or _count_all(connection, query)
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
    if look_for.whole is None:
        return []
    found = _SUGGESTIONS.decode(_by_degree(connection, query, look_for, is_weighed=False))
    for way in (Way.ANYWHERE, Way.PARTS):
        going = _go(look_for, way)
        if not found and going:
            found = _SUGGESTIONS.decode(_by_rank(connection, query, going))
    return found


def _count_all(connection: apsw.Connection, query: SkillQuery) -> Known:
    """Find the way and count. Filters do not change the way: else facets would not add up."""
    if (total := _counted_already(connection, query)) is not None:
        return Known(way=Way.WORDS, total=total)
    bare = msgspec.structs.replace(query, namespace="", tier="", tag="", agent="")
    look_for = expressions_of(bare)
    for way in Way:
        going = _go(look_for, way)
        if going and (total := _count(connection, going, "count" if bare == query else "has_any")):
            break
    else:
        return Known(way=Way.WORDS, total=0)
    if bare != query and (going := _go(expressions_of(query), way)):
        total = _count(connection, going, "count")
    return Known(way=way, total=total)


def _count(connection: apsw.Connection, going: _Search, name: str) -> int:
    return int(one_value(connection, going.queries[name], {"every": going.look_for.every}))


def _go(look_for: Expressions, way: Way) -> _Search | None:
    """Return where to look for what, if that way is open."""
    if way is Way.WORDS:
        return _Search(SEARCH, look_for)
    expression = look_for.anywhere if way is Way.ANYWHERE else look_for.parts
    queries = SEARCH if way is Way.ANYWHERE else SEARCH_PARTS
    return _Search(queries, Expressions(every=expression)) if expression else None


def _find_page(
    connection: apsw.Connection, query: SkillQuery, look_for: Expressions, known: Known
) -> Any:
    going = _go(look_for, known.way)
    if not going or not known.total or not query.limit:
        return "[]"
    if query.sort is not SkillSort.RELEVANCE:
        return _by_sort(connection, query, going, known.total)
    if going.look_for.whole is None:
        return _by_rank(connection, query, going)
    return _by_degree(connection, query, look_for, is_weighed=known.total <= WEIGHED)


def _by_rank(connection: apsw.Connection, query: SkillQuery, going: _Search) -> Any:
    bindings = {"every": going.look_for.every, **_page(query)}
    return one_value(connection, going.queries["first_ranked"], bindings)


def _by_degree(
    connection: apsw.Connection, query: SkillQuery, look_for: Expressions, *, is_weighed: bool
) -> Any:
    page = _page(query)
    how: dict[str, Any]
    if is_weighed:
        how = {
            "whole": look_for.whole,
            "words": _encode(look_for.words).decode(),
            "joint": JOINT,
        }
    else:
        how = {
            "exact": look_for.exact,
            "begins": look_for.begins,
            "named": look_for.named,
            "end": page["offset"] + page["limit"],
        }
    sql = SEARCH["best_fitting" if is_weighed else "fitting_by_rank"]
    return one_value(connection, sql, {"every": look_for.every, **how, **page})


def _by_sort(connection: apsw.Connection, query: SkillQuery, going: _Search, total: int) -> Any:
    page = _page(query)
    skills = _count_skills(connection, is_all=True)
    walked = (page["offset"] + page["limit"]) * skills / total
    walk, cost = _ALL_AT_ONCE if query.text.strip() else _ONE_BY_ONE
    sql = going.queries["sorted"]
    if walked * cost < total:
        column, order, index = _ORDERS[query.sort]
        sql = going.queries[walk].format(column=column, order=order, index=index)
    bindings = {"every": going.look_for.every, "sort": query.sort.value, **page}
    return one_value(connection, sql, bindings)


def _count_values(
    connection: apsw.Connection, query: SkillQuery, known: Known, facet: Facet
) -> list[tuple[str, int]]:
    """Count what each value of a filter would leave, beside the other filters."""
    if _asks_for_nothing(query):
        of_all = {
            "facet": facet.value,
            "is_all": int(query.visible.is_all),
            "values": MAX_FACET_VALUES,
        }
        return _FACETS.decode(one_value(connection, SEARCH["facet_of_all"], of_all))
    going = _go(expressions_of(query, without=facet), known.way)
    if going is None:
        return []
    bindings = {"every": going.look_for.every, "values": MAX_FACET_VALUES}
    return _FACETS.decode(one_value(connection, going.queries[f"facet_{facet}"], bindings))


def _asks_for_nothing(query: SkillQuery) -> bool:
    """Tell whether the answer is all that is public, or all there is."""
    return not query.text.strip() and not filters_of(query) and _sees_simply(query.visible)


def _counted_already(connection: apsw.Connection, query: SkillQuery) -> int | None:
    """Return how many there are if no more than one value of one filter is asked for."""
    filters = filters_of(query)
    if query.text.strip() or len(filters) > 1 or not _sees_simply(query.visible):
        return None
    is_all = query.visible.is_all
    if not filters:
        return _count_skills(connection, is_all=is_all)
    ((facet, values),) = filters
    asked = {
        "facet": facet.value,
        "any_of": _encode([value.encode(errors="replace").decode() for value in values]).decode(),
        "is_all": int(is_all),
    }
    return int(one_value(connection, SEARCH["count_value"], asked))


def _sees_simply(visible: Visible) -> bool:
    """Tell whether it is all that is public, or all there is, that may be seen."""
    return visible.is_all or not visible.namespaces


def _count_skills(connection: apsw.Connection, *, is_all: bool) -> int:
    return int(one_value(connection, SEARCH["count_skills"], {"is_all": int(is_all)}))


def _page(query: SkillQuery) -> dict[str, int]:
    return {
        "limit": min(max(query.limit, 0), MAX_LIMIT),
        "offset": min(max(query.offset, 0), _MAX_OFFSET),
    }
