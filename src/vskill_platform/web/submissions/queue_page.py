"""The public queue page: all submissions, with filters and paging in the URL."""

import asyncio
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Response
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_302_FOUND

from vskill_platform.catalogue.query import (
    SubmissionQuery,
    SubmissionSort,
    Visible,
)
from vskill_platform.engines.ports import MAX_POSITION
from vskill_platform.errors import InvalidInput
from vskill_platform.model.submission import IN_PROGRESS_STATES, SubmissionState
from vskill_platform.queue.health import check_health
from vskill_platform.web.html.flash import read_flash
from vskill_platform.web.http.requests import WebRequest
from vskill_platform.web.http.search_index import catalogue_of, visible_to
from vskill_platform.web.http.visitor import visitor_of
from vskill_platform.web.submissions.submission_view import of_set, positions_of

_S = SubmissionState
PAGE_SIZES = (25, 50, 100)
_MAX_PAGE = 10_000
_MAX_TEXT = 200
#: The cards: label, states, default sort order and color.
GROUPS: dict[str, tuple[str, frozenset[SubmissionState], SubmissionSort, str]] = {
    "all": ("Total", frozenset(), SubmissionSort.NEWEST, ""),
    "active": ("In progress", IN_PROGRESS_STATES, SubmissionSort.OLDEST, "info"),
    "review": ("Needs review", frozenset({_S.NEEDS_REVIEW}), SubmissionSort.OLDEST, "warn"),
    "published": ("Published", frozenset({_S.PUBLISHED}), SubmissionSort.UPDATED, "good"),
    "rejected": (
        "Rejected", frozenset({_S.REJECTED, _S.TIER1_FAILED}), SubmissionSort.UPDATED, "bad",
    ),
    "blocked": ("Blocked", frozenset({_S.BLOCKED}), SubmissionSort.UPDATED, "bad"),
    "withdrawn": ("Withdrawn", frozenset({_S.DEQUEUED}), SubmissionSort.UPDATED, ""),
}  # fmt: skip


class QueueQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The query of the page."""

    show: str = "all"
    q: str = ""
    sort: str = ""
    page: int = 1
    size: int = PAGE_SIZES[0]
    set: str = ""
    #: Only those that the signed-in user submitted.
    mine: bool = False
    #: Ids of rows to highlight, separated by commas.
    highlight: str = ""

    def url(self, **changed: Any) -> str:
        """Return the URL with changes, without default values."""
        asked = msgspec.structs.asdict(msgspec.structs.replace(self, **changed))
        usual = msgspec.structs.asdict(QueueQuery())
        query = {name: value for name, value in asked.items() if value != usual[name]}
        query |= {"mine": 1} if asked["mine"] else {}
        return f"/queue?{urlencode(query)}" if query else "/queue"

    def page_url(self, page: int) -> str:
        return self.url(page=page)


async def queue_page(request: WebRequest) -> Response[Any]:
    asked = read_query(request)
    catalogue, visitor = catalogue_of(request), visitor_of(request)
    asked = msgspec.structs.replace(asked, mine=asked.mine and visitor.user is not None)
    visible = await visible_to(visitor)
    query = await _query(asked, visible, submitter=visitor.name if asked.mine else "")
    found, counts, health = await asyncio.gather(
        catalogue.list_submissions(query),
        catalogue.count_submissions(visible=visible),
        check_health(),
    )
    pages = max(1, -(-found.total // asked.size))
    if asked.page > pages:
        return Redirect(asked.page_url(pages), status_code=HTTP_302_FOUND)
    flash, cookies = read_flash(request, on="/queue")
    context = flash | {
        "asked": asked,
        "rows": found.rows,
        "total": found.total,
        "pages": pages,
        "positions": await positions_of(found.rows),
        "max_position": MAX_POSITION,
        "cards": _cards(asked, counts),
        "sizes": PAGE_SIZES,
        "sort": query.sort,
        "health": health,
        "freshness": catalogue.freshness,
        "highlighted": frozenset(asked.highlight.split(",")),
    }
    return Template("pages/queue.html", context=context, cookies=cookies)


async def _query(asked: QueueQuery, visible: Visible, *, submitter: str) -> SubmissionQuery:
    _, states, usual_sort, _ = GROUPS[asked.show]
    return SubmissionQuery(
        text=asked.q,
        submitter=submitter,
        states=tuple(states),
        sort=SubmissionSort(asked.sort) if asked.sort else usual_sort,
        offset=(asked.page - 1) * asked.size,
        limit=asked.size,
        visible=visible,
        **await of_set(asked.set),
    )


def read_query(request: WebRequest) -> QueueQuery:
    """Read the query; invalid values are an error."""
    given = {name: value for name, value in request.query_params.items() if value != ""}
    known = {name: given[name] for name in QueueQuery.__struct_fields__ if name in given}
    try:
        asked = msgspec.convert(known, QueueQuery, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"invalid query: {error}") from error
    if asked.show not in GROUPS:
        raise InvalidInput(f"show must be one of {', '.join(GROUPS)}")
    if asked.sort and asked.sort not in set(SubmissionSort):
        raise InvalidInput(f"sort must be one of {', '.join(SubmissionSort)}")
    if asked.size not in PAGE_SIZES or not 1 <= asked.page <= _MAX_PAGE:
        raise InvalidInput("page starts at 1, and size is 25, 50 or 100")
    return msgspec.structs.replace(asked, q=asked.q[:_MAX_TEXT])


def _cards(asked: QueueQuery, counts: dict[SubmissionState, int]) -> list[dict[str, Any]]:
    cards = []
    for name, (words, states, _, tone) in GROUPS.items():
        figure = sum(counts[state] for state in (states or SubmissionState))
        href = QueueQuery(size=asked.size).url(
            show=name
        )  # without the search text, so that the list matches the number on the card
        is_shown = name == asked.show
        cards.append(
            {"figure": figure, "words": words, "tone": tone if figure else "", "href": href,
             "current": is_shown}
        )  # fmt: skip
    return cards
