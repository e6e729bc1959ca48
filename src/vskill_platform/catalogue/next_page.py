"""Read the next page of a list for a reader that follows a cursor, while the skills change.

The order of most lists changes under their readers: an install moves a skill up, and a reader that
counts skills misses the one that moves past it. So the index keeps the earlier positions of skills
(skill_move in schema.sql), and a cursor contains the revision of the first page. The pages after it
list every skill at its position at that revision.
"""

from typing import Any

import apsw
import msgspec

from vskill_platform.catalogue.match import Expressions, expressions_of, matches_everything
from vskill_platform.catalogue.query import (
    MAX_LIMIT,
    MAX_SEEN,
    SearchMode,
    SkillHit,
    SkillPosition,
    SkillQuery,
    SkillSort,
)
from vskill_platform.catalogue.sql import NEXT_PAGE, one_value
from vskill_platform.errors import InvalidInput

EXPIRED = "this cursor has expired; read the list again from its first page"
#: The column, order and index of each sort.
ORDERS = {
    SkillSort.NEWEST: ("published_at", "published_at DESC", "skill_newest"),
    SkillSort.UPDATED: ("updated_at", "updated_at DESC", "skill_updated"),
    SkillSort.NAME: ("name_key", "name_key", "skill_name"),
    SkillSort.TRUST: ("trust_score", "trust_score DESC", "skill_trust"),
    SkillSort.INSTALLS: ("installs", "installs DESC", "skill_installs"),
}
#: If fewer skills than one of so many match, all matches are sorted; otherwise skills are read in
#: order until a page is full.
_FEW_MATCH = 8
#: Numbers and names that come before those of any skill.
_HIGHEST, _LOWEST, _FIRST_NAME = 2**62, -1, ""


def first_position(after: SkillPosition) -> SkillPosition:
    """Return the position before the first skill of the list that this position continues."""
    start: int | str = _HIGHEST
    if after.sort is SkillSort.NAME:
        start = _FIRST_NAME
    elif after.sort is SkillSort.RELEVANCE:
        start = _LOWEST
    return msgspec.structs.replace(after, seen=0, value=start, id=_LOWEST)


class Found(msgspec.Struct, frozen=True, array_like=True):
    """A page of results."""

    mode: SearchMode
    total: int
    hits: list[SkillHit] = []
    #: Of the last one by relevance: its match quality times `_QUALITY_FACTOR`, plus its id.
    sort_key: int = 0
    #: The revision of the index.
    revision: int = 0


class _Row(msgspec.Struct, frozen=True, array_like=True):
    value: int | str
    id: int
    hit: SkillHit


_QUALITY_FACTOR = 1 << 40
_PAGE = msgspec.json.Decoder(list[_Row])


def next_position(
    connection: apsw.Connection, query: SkillQuery, found: Found, *, mode: SearchMode, total: int
) -> SkillPosition | None:
    """Return the position of the last skill of a page; None if it is the last page.

    It has the sort key of the skill, not its slug: a reader who could name any slug in a cursor
    would learn whether a private skill of that name exists, and its sort keys.
    """
    seen = query.offset + len(found.hits)
    if not found.hits or seen >= total:
        return None
    if query.sort is SkillSort.RELEVANCE:
        degree, row_id = divmod(found.sort_key, _QUALITY_FACTOR)
        return SkillPosition(query.sort, found.revision, seen, degree, row_id, mode=mode)
    column, _, _ = ORDERS[query.sort]
    bindings = {"slug": found.hits[-1].slug, "revision": found.revision}
    key: Any = connection.execute(NEXT_PAGE["sort_key"].format(column=column), bindings).fetchone()
    if key is None:  # the skill was removed meanwhile, and its moves are no longer kept
        return None
    value, row_id = key
    return SkillPosition(query.sort, found.revision, seen, value, row_id, mode=mode)


def read_after(
    connection: apsw.Connection, query: SkillQuery, after: SkillPosition, *, share: float
) -> tuple[list[SkillHit], SkillPosition | None]:
    """Return the page after a position, and the position of the page that follows, if any.

    *share* is the part of all skills that matches.
    """
    _check(connection, query, after)
    limit = min(max(query.limit, 0), MAX_LIMIT)
    bindings = _matches(query, after.mode) | {
        "revision": after.revision,
        "value": after.value,
        "id": after.id,
        "limit": limit + 1,
        "skip": query.skip,
        "is_all": int(query.visible.is_all),
        "is_everything": int(matches_everything(query)),
    }
    found = _PAGE.decode(one_value(connection, _next_query(query, after, share), bindings))
    page = found[:limit]
    if len(found) <= limit or not page:
        return [one.hit for one in page], None
    seen = min(after.seen + query.skip + len(page), MAX_SEEN)
    following = msgspec.structs.replace(after, seen=seen, value=page[-1].value, id=page[-1].id)
    return [one.hit for one in page], following


def _check(connection: apsw.Connection, query: SkillQuery, after: SkillPosition) -> None:
    """Refuse a position that this index cannot continue, because a page could miss skills."""
    if after.sort is not query.sort:
        raise InvalidInput(f"this cursor continues a list sorted by {after.sort}")
    is_text = isinstance(after.value, str)
    if is_text is not (after.sort is SkillSort.NAME):
        raise InvalidInput("invalid cursor; use nextCursor of the previous response")
    revision, kept_from = _revisions(connection)
    if not kept_from <= after.revision <= revision:
        raise InvalidInput(EXPIRED)


def _revisions(connection: apsw.Connection) -> tuple[int, int]:
    """Return the revision of the index, and the first one whose later moves are all kept."""
    revision, kept_from = next(connection.execute(NEXT_PAGE["revisions"]))
    return int(revision), int(kept_from)


def _next_query(query: SkillQuery, after: SkillPosition, share: float) -> str:
    table = _table(after.mode)
    if query.sort is SkillSort.RELEVANCE:
        return NEXT_PAGE["next_matches"].format(table=table)
    column, order, index = ORDERS[query.sort]
    is_everything = matches_everything(query)
    is_descending = order.endswith("DESC")
    return NEXT_PAGE["next_sorted"].format(
        table=table,
        column=column,
        order=order,
        index=f"INDEXED BY {index}" if is_everything or share * _FEW_MATCH > 1 else "",
        past="<" if is_descending else ">",
        direction="DESC" if is_descending else "ASC",
        matching="(is_private = 0 OR :is_all)"
        if is_everything
        else "id IN (SELECT id FROM fitting)",
    )


def _matches(query: SkillQuery, mode: SearchMode) -> dict[str, Any]:
    """Return the parameters for the matches, best first; only words have degrees."""
    found = expressions_of(query)
    if mode is not SearchMode.WORDS:
        found = Expressions(words=found.by(mode))
    return {
        "every": found.words,
        "exact": found.exact,
        "begins": found.begins,
        "named": found.named,
        "labelled": found.labelled,
    }


def _table(mode: SearchMode) -> str:
    return "skill_part" if mode is SearchMode.PARTS else "skill_text"
