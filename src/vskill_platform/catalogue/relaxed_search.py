"""Search for what was probably meant after nothing matched, all of it in one call of a thread."""

from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import without_filters
from vskill_platform.catalogue.query import SkillQuery, SkillResults, SkillSort
from vskill_platform.catalogue.search_skills import Question, search_some
from vskill_platform.catalogue.vocabulary import relax_text


def search_relaxed(connection: apsw.Connection, *, query: SkillQuery) -> SkillResults | None:
    """Return what matches with corrected words, or with any of them; None if nothing does.

    Whether something matches is decided without the filters: a filter that leaves nothing is not a
    typo. The query as it is has matched nothing.
    """
    bare = without_filters(query)
    has_filters = bare != query
    if has_filters and _count(connection, bare):
        return None
    for relaxed in relax_text(connection, query.text):
        instead = {"text": relaxed.text, "any_word": relaxed.any_word}
        if has_filters and not _count(connection, bare, **instead):
            continue
        found = _search(connection, msgspec.structs.replace(query, **instead))
        if found.total or has_filters:
            return msgspec.structs.replace(
                found, searched_for=relaxed.text, is_any_word=relaxed.any_word
            )
    return None


def _count(connection: apsw.Connection, query: SkillQuery, **changes: Any) -> int:
    counted = msgspec.structs.replace(
        query, sort=SkillSort.RELEVANCE, offset=0, limit=0, with_facets=False, **changes
    )
    return _search(connection, counted).total


def _search(connection: apsw.Connection, query: SkillQuery) -> SkillResults:
    ((found, _),) = search_some(connection, [Question(query)])
    return found
