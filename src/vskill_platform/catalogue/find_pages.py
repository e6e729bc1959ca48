"""Pages of skills, the best fit first: those of several questions in one step."""

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import NOTHING, Way, expressions_of, without_filters
from vskill_platform.catalogue.query import MAX_LIMIT, SkillHit, SkillQuery
from vskill_platform.catalogue.sql import SEARCH, one_value

_encode = msgspec.json.Encoder().encode
_ranked = SEARCH["first_ranked"].format
_FIND = SEARCH["find"].format(
    by_words=SEARCH["best_fitting"],
    by_anything=_ranked(table="skill_text", way=Way.ANYWHERE),
    by_parts=_ranked(table="skill_part", way=Way.PARTS),
)
_MAX_OFFSET = 2**31


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted for a question: true until a skill comes, goes or changes its words."""

    way: Way
    total: int
    facets: dict[str, list[tuple[str, int]]] | None = None


class Question(msgspec.Struct, frozen=True):
    query: SkillQuery
    #: What need not be counted again.
    known: Known | None = None


class Page(msgspec.Struct, frozen=True):
    limit: int
    offset: int


class Found(msgspec.Struct, frozen=True, array_like=True):
    way: Way
    total: int
    hits: list[SkillHit]


_FOUND = msgspec.json.Decoder(list[Found])


def find_pages(
    connection: apsw.Connection, questions: Sequence[Question], page: Page
) -> list[Found]:
    """Return for each the same page of all that fits it."""
    bindings = {
        "questions": _encode([_asked(question) for question in questions]).decode(),
        "limit": page.limit,
        "offset": page.offset,
        "end": page.offset + page.limit,
    }
    return _FOUND.decode(one_value(connection, _FIND, bindings))


def page_of(query: SkillQuery) -> Page:
    return Page(
        limit=min(max(query.limit, 0), MAX_LIMIT), offset=min(max(query.offset, 0), _MAX_OFFSET)
    )


def _asked(question: Question) -> dict[str, Any]:
    """Say it as the query reads it."""
    query, known = question.query, question.known
    asked = msgspec.structs.asdict(expressions_of(query))
    if known:
        return {**asked, "way": known.way, "total": known.total}
    bare = without_filters(query)
    unfiltered = expressions_of(bare) if bare != query else None
    others = {f"{way}_unfiltered": unfiltered.by(way) if unfiltered else NOTHING for way in Way}
    return {**asked, **others}
