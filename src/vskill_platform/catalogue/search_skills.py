"""Search skills: pages of results, the total, and the facet counts."""

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import (
    NOTHING,
    Facet,
    expressions_of,
    filters_of,
    matches_everything,
    sees_public_or_all,
    without_filters,
)
from vskill_platform.catalogue.next_page import ORDERS, Found, next_position, read_after
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    SearchMode,
    SkillHit,
    SkillPosition,
    SkillQuery,
    SkillResults,
    SkillSort,
)
from vskill_platform.catalogue.sql import SEARCH, SEARCH_PARTS, one_value
from vskill_platform.engines.sqlite.connection import snapshot

_ranked = SEARCH["first_ranked"].format
_FIND = SEARCH["find"].format(
    by_words=SEARCH["best_fitting"],
    by_anything=_ranked(table="skill_text", mode=SearchMode.ANYWHERE),
    by_parts=_ranked(table="skill_part", mode=SearchMode.PARTS),
)
_MAX_OFFSET = 2**31


class KnownCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Cached counts of a query, valid until a skill is added, removed or reindexed."""

    mode: SearchMode
    total: int
    facets: dict[str, list[tuple[str, int]]] | None = None


class Question(msgspec.Struct, frozen=True):
    query: SkillQuery
    #: Cached counts.
    known: KnownCounts | None = None


class PageBounds(msgspec.Struct, frozen=True):
    limit: int
    offset: int


_FOUND = msgspec.json.Decoder(list[Found])


def find_pages(
    connection: apsw.Connection, questions: Sequence[Question], page: PageBounds
) -> list[Found]:
    """Return the same page of each query's results."""
    bindings = {
        "questions": _encode([_asked(question) for question in questions]).decode(),
        "limit": page.limit,
        "offset": page.offset,
        "end": page.offset + page.limit,
    }
    return _FOUND.decode(one_value(connection, _FIND, bindings))


def page_of(query: SkillQuery) -> PageBounds:
    return PageBounds(
        limit=min(max(query.limit, 0), MAX_LIMIT), offset=min(max(query.offset, 0), _MAX_OFFSET)
    )


def _asked(question: Question) -> dict[str, Any]:
    """Return the parameters of the SQL query."""
    query, known = question.query, question.known
    asked = msgspec.structs.asdict(expressions_of(query))
    if known:
        return {**asked, "mode": known.mode, "total": known.total}
    bare = without_filters(query)
    unfiltered = expressions_of(bare) if bare != query else None
    others = {
        f"{mode}_unfiltered": unfiltered.by(mode) if unfiltered else NOTHING for mode in SearchMode
    }
    return {**asked, **others}


#: Maximum facet values.
MAX_FACET_VALUES = 50
#: The queries that check skills in sort order, with their cost relative to one match. Without words
#: it is faster to check skills one by one; with words, each check would merge the prefix of the
#: last word.
_ONE_BY_ONE, _ALL_AT_ONCE = ("walk_one_by_one", 12.0), ("walk_all_at_once", 0.5)
#: How many times more skills than expected are checked one by one. Matches may be clustered late
#: in the order: for example, a list of one tier by rank begins after all skills of better tiers.
_PATIENCE = 4
_encode = msgspec.json.Encoder().encode
#: The skills and the revision.
_PAGE = msgspec.json.Decoder(tuple[list[SkillHit], int])
_FACETS = msgspec.json.Decoder(list[tuple[str, int]])


def is_quick(query: SkillQuery) -> bool:
    """Return whether a query is fast enough to run in a batch with others."""
    is_plain = query.sort is SkillSort.RELEVANCE and not query.with_facets
    return is_plain and not filters_of(query)


def search_some(
    connection: apsw.Connection, questions: Sequence[Question]
) -> list[tuple[SkillResults, KnownCounts]]:
    """Return a page for each query, and its counts for the cache."""
    questions = [_with_known(connection, question) for question in questions]
    found: dict[SkillQuery, Found] = {}
    best_first = [asked for asked in questions if asked.query.sort is SkillSort.RELEVANCE]
    for page in {page_of(asked.query) for asked in best_first}:
        group = [asked for asked in best_first if page_of(asked.query) == page]
        pages = find_pages(connection, group, page)
        found |= {asked.query: one for asked, one in zip(group, pages, strict=True)}
    return [
        _search(connection, asked, found.get(asked.query) or _find_sorted(connection, asked))
        for asked in questions
    ]


def search_after(
    connection: apsw.Connection, question: Question, after: SkillPosition
) -> tuple[SkillResults, KnownCounts]:
    """Return the page after a position, with the words that the first page was searched for."""
    with snapshot(connection):
        query = words_of_first_page(question.query, after)
        counting = msgspec.structs.replace(query, limit=0)
        ((counted, known),) = search_some(connection, [Question(counting, question.known)])
        share = counted.total / max(_count_skills(connection, is_all=True), 1)
        page = msgspec.structs.replace(query, skip=question.query.skip)
        hits, following = read_after(connection, page, after, share=share)
    return msgspec.structs.replace(
        counted, hits=hits, next=following, searched_for=after.text, is_any_word=after.any_word
    ), known


def words_of_first_page(query: SkillQuery, after: SkillPosition) -> SkillQuery:
    return msgspec.structs.replace(
        query,
        text=after.text or query.text,
        any_word=after.any_word,
        is_forgiving=False,
        offset=0,
        after=None,
        skip=0,
    )


def _with_known(connection: apsw.Connection, question: Question) -> Question:
    if question.known is not None:
        return question
    total = _counted_already(connection, question.query)
    known = KnownCounts(mode=SearchMode.WORDS, total=total) if total is not None else None
    return Question(question.query, known)


def _search(
    connection: apsw.Connection, question: Question, found: Found
) -> tuple[SkillResults, KnownCounts]:
    query = question.query
    known = question.known or KnownCounts(mode=found.mode, total=found.total)
    if query.with_facets and known.facets is None:
        facets = {facet.value: _count_values(connection, query, known, facet) for facet in Facet}
        known = msgspec.structs.replace(known, facets=facets)
    facets_asked = known.facets if query.with_facets else None
    following = next_position(connection, query, found, mode=known.mode, total=known.total)
    return SkillResults(
        hits=found.hits, total=known.total, facets=facets_asked, next=following
    ), known


def _find_sorted(connection: apsw.Connection, question: Question) -> Found:
    """Return a page in an order other than relevance."""
    query, known = question.query, question.known
    if known is None:
        (counted,) = find_pages(connection, [question], PageBounds(limit=0, offset=0))
        known = KnownCounts(mode=counted.mode, total=counted.total)
    page = page_of(query)
    if not known.total or not page.limit:
        return Found(known.mode, known.total)
    walked = (page.offset + page.limit) * _count_skills(connection, is_all=True) / known.total
    bindings = {
        "every": expressions_of(query).by(known.mode),
        "is_all": int(query.visible.is_all),
        "sort": query.sort.value,
        "limit": page.limit,
        "offset": page.offset,
        "most": int(walked * _PATIENCE) + 1,
    }

    def find(sql: str) -> tuple[list[SkillHit], int]:
        column, order, index = ORDERS[query.sort]
        filled = _queries(known.mode)[sql].format(column=column, order=order, index=index)
        return _PAGE.decode(one_value(connection, filled, bindings))

    name = _sorted_by(query, known, walked)
    hits, revision = find(name)
    if name == _ONE_BY_ONE[0] and len(hits) < min(page.limit, known.total - page.offset):
        hits, revision = find(_ALL_AT_ONCE[0])
    return Found(known.mode, known.total, hits, revision=revision)


def _sorted_by(query: SkillQuery, known: KnownCounts, walked: float) -> str:
    """Return the fastest query: sort all matches, or read skills in order until a page is full."""
    if matches_everything(query):
        return "walk_everything"
    walk, cost = _ALL_AT_ONCE if query.text.strip() else _ONE_BY_ONE
    return walk if walked * cost < known.total else "sorted"


def _queries(mode: SearchMode) -> dict[str, str]:
    return SEARCH_PARTS if mode is SearchMode.PARTS else SEARCH


def _count_values(
    connection: apsw.Connection, query: SkillQuery, known: KnownCounts, facet: Facet
) -> list[tuple[str, int]]:
    """Count the matches of each value of a filter, given the other filters."""
    if matches_everything(query):
        of_all = {
            "facet": facet.value,
            "is_all": int(query.visible.is_all),
            "values": MAX_FACET_VALUES,
        }
        return _FACETS.decode(one_value(connection, SEARCH["facet_of_all"], of_all))
    # A skill has several capabilities, so a chosen capability narrows the counts of the others.
    without = facet if facet is not Facet.CAPABILITY else None
    every = expressions_of(query, without=without).by(known.mode)
    bindings = {"every": every, "values": MAX_FACET_VALUES}
    return _FACETS.decode(one_value(connection, _queries(known.mode)[f"facet_{facet}"], bindings))


def _counted_already(connection: apsw.Connection, query: SkillQuery) -> int | None:
    """Return the total from the maintained counts, for a query with at most one filter."""
    filters = filters_of(query)
    if query.text.strip() or len(filters) > 1 or not sees_public_or_all(query.visible):
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


def _count_skills(connection: apsw.Connection, *, is_all: bool) -> int:
    return int(one_value(connection, SEARCH["count_skills"], {"is_all": int(is_all)}))
